# Jobs that end with the script that runs them. Sourced by bash scripts, also those of benches and ci.
#
# A shell handles a signal only between its commands, or while it waits for a background job. So everything that takes
# long is started in the background, `alone SECONDS COMMAND... &`, and awaited, `status_of $!`.

# alone SECONDS COMMAND...: becomes that command, with a time limit (0: none) and timeout's status, in a session of its
# own: a terminal's Ctrl-C reaches only this script. --foreground, because without it `timeout` signals twice, and the
# mpirun of Open MPI 4 then leaves its ranks running.
alone() {
    exec setsid timeout --foreground --kill-after=10 "$@" </dev/null
}

# status_of JOB: returns a job's status. If it failed, what is left in its process group is killed.
status_of() {
    local status=0
    wait "$1" || status=$?
    [ "$status" -eq 0 ] || kill -KILL -- "-$1" 2>/dev/null || true
    return "$status"
}

# end_jobs_on_signals: from then on a signal that ends this shell ends its jobs first.
end_jobs_on_signals() {
    local signal
    for signal in HUP INT TERM; do
        # shellcheck disable=SC2064
        trap "end_jobs $signal" "$signal"
    done
}

end_jobs() { # SIGNAL
    local job
    trap '' HUP INT TERM
    for job in $(jobs -pr); do
        kill "$job" 2>/dev/null || true
        status_of "$job" || true
    done
    # Ends by the signal itself, so that a loop around the script ends too.
    trap - "$1"
    kill -s "$1" "$BASHPID"
}
