/** What differs between the two databases. Statements are written with `?` and translated once, when they are built. */
export interface Dialect {
  readonly name: "sqlite" | "pg"
  readonly text: (statement: string) => string
  /** Takes the write lock at once: a transaction that reads first and locks later fails on any other's write. */
  readonly begin: string
  /** Tells what became of a transaction, of the number that `begin` answers, whose COMMIT was not answered. */
  readonly outcome: string | undefined
  /** The database's clock in milliseconds. `undefined`: it is that of the process. */
  readonly clock: string | undefined
  /** A parameter where nothing else tells the server that it is an integer. */
  readonly integer: string
  readonly least: string
  /** Locks the rows of a SELECT against changes, and against removal. */
  readonly forUpdate: string
  readonly forKeyShare: string
  /** A number that was never given out before. */
  readonly nextNumber: string
}

export const sqlite: Dialect = {
  name: "sqlite",
  text: (statement) => statement,
  begin: "BEGIN IMMEDIATE",
  outcome: undefined,
  clock: undefined,
  integer: "?",
  least: "min",
  forUpdate: "",
  forKeyShare: "",
  nextNumber: "UPDATE afterturn_counter SET value = value + 1 RETURNING value"
}

const numbered = (statement: string): string => {
  let index = 0
  return statement.replaceAll("?", () => `$${++index}`)
}

export const pg: Dialect = {
  name: "pg",
  text: numbered,
  // A row lock that another holds is waited for in slices, as on SQLite, so that the wait has an end.
  begin: "BEGIN; SET LOCAL lock_timeout = '500ms'; SELECT txid_current() AS xid",
  outcome: "SELECT txid_status($1::bigint) AS status",
  clock: "(extract(epoch FROM clock_timestamp()) * 1000)::bigint",
  integer: "?::bigint",
  least: "least",
  forUpdate: " FOR UPDATE",
  forKeyShare: " FOR KEY SHARE",
  nextNumber: "SELECT nextval('afterturn_numbers') AS value"
}

/** The smallest power of two that is not less: lists are padded to it, so that the texts of statements stay few. */
const paddedLength = (length: number): number => {
  let padded = 1
  while (padded < length) padded *= 2
  return padded
}

/** Fills a list up by repeating its last entry. */
export const padded = <A>(entries: ReadonlyArray<A>): ReadonlyArray<A> => {
  const filled = entries.slice()
  const length = paddedLength(entries.length)
  while (filled.length < length) filled.push(entries[entries.length - 1]!)
  return filled
}

export const repeat = (piece: string, times: number): string => Array.from({ length: times }, () => piece).join(",")

/** A statement whose text depends on a count, built once a count. */
export const sized = (dialect: Dialect, build: (count: number) => string): ((count: number) => string) => {
  const texts = new Map<number, string>()
  return (count) => {
    const present = texts.get(count)
    if (present !== undefined) return present
    const text = dialect.text(build(count))
    texts.set(count, text)
    return text
  }
}
