//! The numbers of a logarithmic axis and their positions.

use crate::report::count;

/// The most numbers of an axis, not counting its first.
const MOST: usize = 12;

/// The measured values, without duplicates; if there are many, some of them, including the first and
/// the last.
pub(crate) fn of_values(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut ticks: Vec<f64> = values.collect();
    ticks.sort_by(f64::total_cmp);
    ticks.dedup();
    let step = ticks.len().div_ceil(MOST).max(1);
    let first = ticks.first().copied();
    // If the remaining step is too short, the first value replaces its neighbour.
    let left_over = ticks.len().saturating_sub(1) % step;
    let mut some: Vec<f64> = ticks.into_iter().rev().step_by(step).collect();
    if left_over > 0 && left_over * 2 <= step {
        some.pop();
    }
    if left_over > 0 {
        some.extend(first);
    }
    some.reverse();
    some
}

/// Round numbers in a range: powers of ten, with twos and fives between them if there are few, or at
/// equal distances if there is less than one power of ten.
pub(crate) fn of_range(least: f64, most: f64) -> Vec<f64> {
    if most / least < 8.0 {
        return evenly(least, most);
    }
    let decades = (most / least).log10();
    let leading: &[f64] = if decades > 5.0 {
        &[1.0]
    } else {
        &[1.0, 2.0, 5.0]
    };
    let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
    powers
        .flat_map(|power| leading.iter().map(move |digit| digit * 10_f64.powi(power)))
        .filter(|tick| (least..=most).contains(tick))
        .collect()
}

fn evenly(least: f64, most: f64) -> Vec<f64> {
    let rough = (most - least) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|digit| digit * power)
        .into_iter()
        .find(|&step| step >= rough)
        .unwrap_or(10.0 * power);
    let (first, last) = ((least / step).ceil() as i64, (most / step).floor() as i64);
    (first..=last).map(|at| at as f64 * step).collect()
}

/// A number: below 100 with three significant digits and no trailing zeros, otherwise whole, with separators.
pub(crate) fn label(number: f64) -> String {
    if number <= 0.0 {
        return "0".into();
    }
    if number >= 100.0 {
        return count(number.round() as u64);
    }
    let decimals = (2 - number.log10().floor() as i32).max(0) as usize;
    let text = format!("{number:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_some_numbers_and_not_too_many() {
        for least in [0.03, 0.9, 7.0, 44.0, 3_900_000.0] {
            for factor in [1.6, 2.5, 7.9, 8.1, 30.0, 1e3, 1e6, 1e9] {
                let (most, ticks) = (least * factor, of_range(least, least * factor));
                assert!(
                    (2..=16).contains(&ticks.len()),
                    "{least}..{most}: {ticks:?}"
                );
                assert!(ticks.is_sorted_by(|a, b| a < b));
                assert!(ticks.iter().all(|tick| (least..=most).contains(tick)));
            }
        }
    }

    #[test]
    fn what_was_measured_has_its_number() {
        assert_eq!(of_values([8.0, 1.0, 8.0, 2.0].into_iter()), [1.0, 2.0, 8.0]);
        let many = of_values((0..30).map(f64::from));
        assert_eq!(many.len(), 11);
        assert_eq!(many[..3], [0.0, 2.0, 5.0]);
        assert_eq!(many.last(), Some(&29.0));
        for all in 0..100_u8 {
            let some = of_values((0..all).map(f64::from));
            assert!(some.len() <= MOST + 1, "{some:?}");
            assert!(some.is_sorted_by(|a, b| a < b));
            if let Some(last) = all.checked_sub(1) {
                assert_eq!(some.first(), Some(&0.0));
                assert_eq!(some.last(), Some(&f64::from(last)));
            }
        }
        assert!(of_values(core::iter::empty()).is_empty());
    }
    #[test]
    fn numbers_have_the_digits_that_count() {
        for (number, text) in [
            (0.0, "0"),
            (0.000_2, "0.0002"),
            (0.001, "0.001"),
            (0.012_5, "0.0125"),
            (0.05, "0.05"),
            (0.3, "0.3"),
            (0.1 + 0.2, "0.3"),
            (1.0, "1"),
            (2.5, "2.5"),
            (10.0, "10"),
            (12.5, "12.5"),
            (29.999_999_999, "30"),
            (100.0, "100"),
            (5e6, "5,000,000"),
        ] {
            assert_eq!(label(number), text, "{number}");
        }
    }
}
