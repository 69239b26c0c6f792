/** Background jobs: from start to end, what finished ones cost, and how soon somebody hears of an end. */
import { lists } from "./jobs/lists.js"
import { memoryOfJobs } from "./jobs/memory.js"
import { settling } from "./jobs/settling.js"
import { wakes } from "./jobs/wakes.js"
import { Peers } from "./support/peers.js"
import { Report } from "./support/report.js"

const report = new Report("jobs")
const peers = await Peers.start(report)
await settling(report, peers)
await wakes(report, peers)
await memoryOfJobs(report, peers)
await lists(report, peers)
peers?.stop()
report.note(
  "The peers' registry lives in memory and has no ledger: a start and an end of theirs store nothing, where each of ours is an event " +
    "in the session's log. Their list shows every job there ever was; ours the newest 100, older ones are read from the log by id."
)
report.print()
