import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, workplace } from "../../support/afterturn.js"

/** A database with two sessions: `s1` with a plan, then `s2`. Made once, copied for each test. */
let template: Workplace
const scope = Effect.runSync(Scope.make())
beforeAll(() =>
  Effect.gen(function* () {
    template = yield* Scope.extend(workplace, scope)
    for (const [id, prompt] of [
      ["s1", "plan it"],
      ["s2", "greet\nme"]
    ] as const) {
      const { code, stderr } = yield* inProcess(["run", ...template.scripted, "--session", id, prompt])
      assert.strictEqual(code, 0, stderr)
    }
  }).pipe(Effect.runPromise)
)
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const withSessions = <A, E>(body: (place: Workplace) => Effect.Effect<A, E>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const place = yield* workplace
      fs.cpSync(template.db, place.db)
      return yield* body(place)
    })
  )

const sessions = (place: Workplace, ...args: ReadonlyArray<string>) =>
  inProcess(["sessions", ...args, "--db", place.db])

const json = (place: Workplace, ...args: ReadonlyArray<string>) =>
  Effect.map(sessions(place, ...args, "--json"), ({ code, stderr, stdout }) => {
    assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
    return JSON.parse(stdout)
  })

const error = (place: Workplace, ...args: ReadonlyArray<string>) =>
  Effect.map(sessions(place, ...args, "--json"), ({ code, stderr, stdout }) => {
    assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
    return (JSON.parse(stderr) as { readonly error: { readonly code: string; readonly message: string } }).error
  })

/** Changes the database behind the log's back. */
const tamper = (place: Workplace, ...statements: ReadonlyArray<string>) =>
  Effect.sync(() => {
    const database = new Sqlite(place.db)
    for (const statement of statements) {
      assert.isAbove(database.prepare(statement).run().changes, 0, statement)
    }
    database.close()
  })

describe("sessions list", () => {
  it.live("is an array of headers, newest first", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const headers = yield* json(place, "list")
        assert.deepStrictEqual(
          headers.map((header: { readonly id: string }) => header.id),
          ["s2", "s1"]
        )
        const [{ createdAt, ...header }] = headers
        assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.deepStrictEqual(header, {
          id: "s2",
          version: 1,
          cwd: process.cwd(),
          title: "greet",
          delegationDepth: 0,
          lastSeq: 7
        })
      })
    )
  )

  it.live("keeps to a limit, a folder and a parent", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        yield* json(place, "fork", "s1", "--id", "child")
        const ids = (...args: ReadonlyArray<string>) =>
          Effect.map(json(place, "list", ...args), (headers) =>
            headers.map((header: { readonly id: string }) => header.id)
          )
        assert.deepStrictEqual(yield* ids("--limit", "1"), ["child"])
        assert.deepStrictEqual(yield* ids("--limit", "9"), ["child", "s2", "s1"])
        assert.deepStrictEqual(yield* ids("--parent", "s1"), ["child"])
        assert.deepStrictEqual(yield* ids("--cwd", "/elsewhere"), [])
      })
    )
  )

  it.live("shows a table that fits the terminal", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const { stdout } = yield* inProcess(["sessions", "list", "--db", place.db], { columns: 60 })
        const lines = stdout.trimEnd().split("\n")
        assert.match(lines[0] ?? "", /^ID {2}CREATED +EVENTS {2}TITLE/)
        assert.match(lines[1] ?? "", /^s2 {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}8 {7}greet/)
        for (const line of lines) assert.isAtMost(line.length, 60)
      })
    )
  )

  it.live("finds nothing where there is no database, and makes none", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      assert.strictEqual((yield* sessions(place, "list")).stdout, "no sessions\n")
      assert.isFalse(fs.existsSync(place.db))
    }).pipe(Effect.scoped)
  )
})

describe("sessions show", () => {
  it.live("has the header and every event", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const { events, header } = yield* json(place, "show", "s1")
        assert.strictEqual(header.lastSeq, 13)
        assert.deepStrictEqual(
          events.map((event: { readonly seq: number }) => event.seq),
          Array.from({ length: 14 }, (_, seq) => seq)
        )
        assert.strictEqual(events[7].type, "todo/write")
      })
    )
  )

  it.live("shows an event a line to people", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const { stdout } = yield* sessions(place, "show", "s1")
        const lines = stdout.trimEnd().split("\n")
        assert.match(lines[0] ?? "", /^session +s1$/)
        assert.match(lines.at(-1) ?? "", /^ {3}13 {2}\d\d:\d\d:\d\d\.\d{3} {2}turn\/end +turn 1 completed$/)
        assert.strictEqual(lines.length, lines.indexOf("") + 1 + 14)
      })
    )
  )
})

describe("sessions export and import", () => {
  it.live("carry a session into another database without a difference", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const exported = (yield* sessions(place, "export", "s1")).stdout
        const [header, ...events] = jsonLines(exported)
        assert.strictEqual(header?.id, "s1")
        const shown = yield* json(place, "show", "s1")
        assert.deepStrictEqual(events, shown.events)

        const file = path.join(place.folder, "s1.jsonl")
        fs.writeFileSync(file, exported)
        const other = { ...place, db: path.join(place.folder, "other.db") }
        assert.strictEqual((yield* sessions(other, "import", file)).stdout, "s1\n")
        assert.deepStrictEqual(yield* json(other, "show", "s1"), shown)
        assert.strictEqual((yield* sessions(other, "export", "s1")).stdout, exported)

        assert.strictEqual((yield* error(other, "import", file)).code, "session_exists")
        assert.strictEqual((yield* json(other, "import", file, "--id", "again")).id, "again")
      })
    )
  )

  it.live("have a host called for the reminders that came along", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const rule = '{"at":"2099-01-01T00:00:00Z"}'
        const options = ["--db", place.db, "--session", "s1", "--title", "tea", "--rule", rule]
        assert.strictEqual((yield* inProcess(["schedule", "create", ...options, "Pour."])).code, 0)
        const file = path.join(place.folder, "s1.jsonl")
        fs.writeFileSync(file, (yield* sessions(place, "export", "s1")).stdout)
        yield* sessions(place, "import", file, "--id", "moved")
        const db = new Sqlite(place.db, { readonly: true })
        const alarms = db.prepare("SELECT key, due_at FROM afterturn_alarms WHERE session = 'moved'").all()
        db.close()
        assert.deepStrictEqual(alarms, [{ key: "reminders", due_at: Date.UTC(2099, 0, 1) }])
      })
    )
  )

  it.live("name the first bad line and store nothing", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const lines = (yield* sessions(place, "export", "s1")).stdout.split("\n")
        const file = path.join(place.folder, "bad.jsonl")
        fs.writeFileSync(file, [lines[0], lines[1], lines[3]].join("\n"))
        const { code, message } = yield* error(place, "import", file, "--id", "new")
        assert.strictEqual(code, "import_rejected")
        assert.match(message, /^line 3: /)
        assert.strictEqual((yield* error(place, "show", "new")).code, "session_not_found")
      })
    )
  )

  it.live("say that a file is not there", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, message } = yield* error(place, "import", path.join(place.folder, "none.jsonl"))
      assert.strictEqual(code, "input_unreadable")
      assert.match(message, /none\.jsonl cannot be read: there is no such file$/)
    }).pipe(Effect.scoped)
  )
})

describe("what a session says", () => {
  it.live("reaches a terminal without controls, as text and as JSON of the same meaning", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const said = "\u001b[2J\u009b31m\u202eolleh"
      yield* inProcess(["run", ...place.scripted, "--session", "s1", said])
      for (const args of [["list"], ["show", "s1"], ["list", "--json"], ["show", "s1", "--json"], ["export", "s1"]]) {
        const line = ["sessions", ...args, "--db", place.db]
        const { stdout } = yield* inProcess(line, { columns: 500 })
        assert.notMatch(stdout, /(?!\n)[\p{Cc}\u202e]/u, args.join(" "))
        const piped = yield* inProcess(line)
        if (args.includes("--json")) assert.deepStrictEqual(JSON.parse(stdout), JSON.parse(piped.stdout))
        if (args.includes("export")) assert.deepStrictEqual(jsonLines(stdout), jsonLines(piped.stdout))
      }
    }).pipe(Effect.scoped)
  )
})

describe("sessions fork", () => {
  it.live("makes a child that begins with its parent's events", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const whole = yield* json(place, "fork", "s1", "--id", "child", "--title", "Another way")
        assert.deepInclude(whole, { id: "child", parent: "s1", seedLength: 14, lastSeq: 13, title: "Another way" })
        const part = yield* json(place, "fork", "s1", "--at", "7")
        assert.deepInclude(part, { parent: "s1", seedLength: 8, lastSeq: 7, title: "plan it" })
        const { events } = yield* json(place, "show", part.id)
        assert.deepStrictEqual(events, (yield* json(place, "show", "s1")).events.slice(0, 8))
        assert.strictEqual((yield* error(place, "fork", "s1", "--at", "99")).code, "invalid_fork_boundary")
      })
    )
  )
})

describe("sessions remove and gc", () => {
  it.live("remove a session and leave its forks whole", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        yield* json(place, "fork", "s1", "--id", "child")
        const before = yield* json(place, "show", "child")
        assert.deepStrictEqual(yield* json(place, "remove", "s1"), { removed: "s1" })
        assert.deepStrictEqual(yield* error(place, "remove", "s1"), {
          code: "session_not_found",
          message: 'no session "s1"'
        })
        assert.deepStrictEqual(yield* json(place, "gc"), { events: 0, jobOutputs: 0 })
        assert.deepStrictEqual(yield* json(place, "show", "child"), before)
        assert.strictEqual((yield* sessions(place, "gc")).stdout, "removed 0 events and the output of 0 jobs\n")
      })
    )
  )
})

describe("sessions verify", () => {
  it.live("finds one session or all of them sound", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        const all = yield* json(place, "verify")
        assert.deepStrictEqual(
          all.map((one: { readonly id: string; readonly events: number }) => [one.id, one.events]),
          [
            ["s2", 8],
            ["s1", 14]
          ]
        )
        assert.deepStrictEqual(yield* json(place, "verify", "s1"), [all[1]])
        assert.match((yield* sessions(place, "verify", "s1")).stdout, /^s1: sound, 14 events, \d+ snapshots/)
      })
    )
  )

  it.live("exits 1 naming a missing event", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        yield* tamper(place, "DELETE FROM afterturn_events WHERE segment = 1 AND seq = 4")
        const { code, stderr } = yield* sessions(place, "verify")
        assert.strictEqual(code, 1)
        assert.match(stderr, /^afterturn: session "s1" is corrupt at seq 4: .+\n$/)
        assert.strictEqual((yield* error(place, "verify", "s1")).code, "session_log_corrupt")
        assert.strictEqual((yield* sessions(place, "verify", "s2")).code, 0)
      })
    )
  )

  it.live("exits 1 naming an event that is not of its type", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        yield* tamper(place, `UPDATE afterturn_events SET data = '{"turn":"one"}' WHERE type = 'turn/end'`)
        const { message } = yield* error(place, "verify", "s1")
        assert.match(message, /^session "s1" is corrupt at seq 13: .*turn/)
      })
    )
  )

  it.live("exits 1 naming a snapshot that its events do not make", () =>
    withSessions((place) =>
      Effect.gen(function* () {
        yield* tamper(place, "UPDATE afterturn_snapshots SET state = '[]' WHERE key = 'todos' AND owner = 1")
        const { message } = yield* error(place, "verify")
        assert.match(message, /snapshot of projection "todos": it differs from the fold of its events$/)
      })
    )
  )
})

describe("sessions on what is no database", () => {
  it.live("fail and leave the file as it is", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      fs.writeFileSync(place.db, "my notes")
      for (const args of [["list"], ["show", "s1"], ["verify"], ["gc"], ["remove", "s1"]]) {
        assert.strictEqual((yield* error(place, ...args)).code, "store_not_a_database")
      }
      assert.strictEqual(fs.readFileSync(place.db, "utf8"), "my notes")
      assert.deepStrictEqual(fs.readdirSync(place.folder).sort(), ["script.json", "sessions.db"])
    }).pipe(Effect.scoped)
  )
})
