/** What a life of the session is told when it starts, and what it says while it lives. */

/** When a life ends itself with SIGKILL: around its N-th commit, counted from 1. Without it the parent kills. */
export interface Death {
  readonly commit: number
  /** `before` the store is asked, or `after` it has stored and before anybody knows. */
  readonly when: "before" | "after"
}

export interface Orders {
  readonly filename: string
  readonly session: string
  /** Names the life in the texts of its messages. */
  readonly life: number
  readonly seed: number
  /** How many messages it sends. */
  readonly messages: number
  readonly death?: Death
  /** The last life: sends one message that opens a turn, waits until the agent is idle, and closes. */
  readonly last?: boolean
}

/** A line of a life's stdout. It is written before anything else can follow, so that what was said is never taken back. */
export type Saying =
  /** The agent is alive; what the last life left open is closed. */
  | { readonly _tag: "alive" }
  /** The store has answered that these events are stored. */
  | { readonly _tag: "committed"; readonly firstSeq: number; readonly events: ReadonlyArray<Said> }
  /** The agent has accepted a message. */
  | { readonly _tag: "accepted"; readonly id: string; readonly text: string }
  /** Nothing is left to do. */
  | { readonly _tag: "quiet" }

export interface Said {
  readonly type: string
  /** As text. */
  readonly data: string
}
