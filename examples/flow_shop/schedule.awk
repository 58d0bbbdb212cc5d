# One order of the jobs for all machines. Standard input: a row of times for each job, as JSON; standard output: the order.
# POSIX awk, nothing else. Only what stands between the two markers may change.

function index_of(job,    worth, machine) {
    worth = 0
    for (machine = 1; machine <= machines; machine++) worth += weight[machine] * time[job, machine]
    return worth + shortest_weight * shortest(job)
}

function shortest(job,    least, machine) {
    least = time[job, 1]
    for (machine = 2; machine <= machines; machine++) if (time[job, machine] < least) least = time[job, machine]
    return least
}

# EVOLVE-BLOCK-START
function settings() {
    weight[1] = -1.0 # what a minute on the first machine is worth; jobs with a high sum go first
    weight[2] = -0.5
    weight[3] = 0.0
    weight[4] = 0.5
    weight[5] = 1.0
    shortest_weight = 0.0
    inserted = 3 # so many of the first jobs are put where they delay least, the others at the end
}
# EVOLVE-BLOCK-END

{ text = text $0 }

END {
    read_times()
    settings()
    rank()
    count = 0
    for (place = 1; place <= jobs; place++) put(ranked[place], place <= inserted)
    for (place = 1; place <= count; place++) printf "%s%d", (place == 1 ? "[" : ", "), order[place] - 1
    print "]"
}

function read_times(    rows, row, cells, cell) {
    gsub(/[ \t\r\n]/, "", text)
    sub(/^\[\[/, "", text)
    sub(/\]\]$/, "", text)
    jobs = split(text, rows, /\],\[/)
    for (row = 1; row <= jobs; row++) {
        machines = split(rows[row], cells, ",")
        for (cell = 1; cell <= machines; cell++) time[row, cell] = cells[cell] + 0
    }
}

function rank(    job, place) {
    for (job = 1; job <= jobs; job++) {
        worth[job] = index_of(job)
        for (place = job; place > 1 && worth[ranked[place - 1]] < worth[job]; place--) ranked[place] = ranked[place - 1]
        ranked[place] = job
    }
}

function put(job, anywhere,    place, best, least, length_here) {
    order[++count] = job
    if (!anywhere) return
    best = count
    least = makespan()
    for (place = count; place > 1; place--) {
        order[place] = order[place - 1]
        order[place - 1] = job
        length_here = makespan()
        if (length_here < least) { least = length_here; best = place - 1 }
    }
    for (place = 1; place < best; place++) order[place] = order[place + 1]
    order[best] = job
}

function makespan(    place, machine, ready) {
    for (machine = 1; machine <= machines; machine++) done[machine] = 0
    for (place = 1; place <= count; place++)
        for (machine = 1; machine <= machines; machine++) {
            ready = (machine > 1 && done[machine - 1] > done[machine]) ? done[machine - 1] : done[machine]
            done[machine] = ready + time[order[place], machine]
        }
    return done[machines]
}
