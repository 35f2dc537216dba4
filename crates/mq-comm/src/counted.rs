//! Elements with several owners, an `Rc` or `Arc` of them: they are sent, but not received into.
//!
//! # Why this is sound
//! The slices and vectors that they lead to are on the heap, wherever the `Rc` or `Arc` itself is. As long as there is
//! a second owner, nobody gets at the elements for writing, and nobody gets a vector out to change its length; elements
//! are [`Plain`], and so nothing in them changes through a reference. A request's buffer is an owner.
#![allow(unsafe_code, reason = "hands an owner's part over")]

use std::rc::Rc;
use std::sync::Arc;

use crate::buffer::{Buffer, Content, sealed};
use crate::plain::Plain;
use crate::shared_buffer::{Sendable, sealed::HandOver};

macro_rules! is_sent {
    ($($counted:ty),*) => {$(
        impl<E: Plain> Content for $counted {}
        impl<E: Plain> Sendable for $counted {}

        #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
        impl<E: Plain> sealed::Content for $counted {
            const OWNED: bool = true;

            unsafe fn back(buffer: Buffer) -> Self {
                Self::take_back(buffer)
            }
        }

        #[allow(private_interfaces, reason = "sealed: nobody else can name it")]
        impl<E: Plain> HandOver for $counted {
            fn is_of(&self, _process: *const ()) -> bool {
                true
            }

            fn hand_over(self) -> Buffer {
                // SAFETY: see the module.
                unsafe { Buffer::counted(self, |counted| &counted[..]) }
            }

            fn take_back(buffer: Buffer) -> Self {
                buffer.into_counted().unwrap_or_default()
            }
        }
    )*};
}

is_sent!(Rc<[E]>, Rc<Vec<E>>, Arc<[E]>, Arc<Vec<E>>);
