/** The session log: appends, resume, size on disk, and a store that holds many sessions. */
import { memoryAppends, sqliteAppends } from "./session-log/appends.js"
import { postgresAppends } from "./session-log/postgres.js"
import { resumes } from "./session-log/resume.js"
import { manySessions } from "./session-log/sessions.js"
import { Peers } from "./support/peers.js"
import { Report } from "./support/report.js"

const report = new Report("session-log")
const peers = await Peers.start(report)
await sqliteAppends(report, "normal", peers)
await sqliteAppends(report, "full", peers)
await memoryAppends(report, peers)
await postgresAppends(report)
await resumes(report, peers)
await manySessions(report, peers)
peers?.stop()
report.print()
