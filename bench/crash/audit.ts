/**
 * What must hold of a session's log after its process was killed. Written against the events alone, so that it does not share a
 * mistake with the code that wrote them.
 */
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import type { Said } from "./protocol.js"

/** What the lives of a session have acknowledged so far. */
export interface Acknowledged {
  /** By seq. */
  readonly events: Map<number, Said>
  /** The text of each accepted message, by its id. */
  readonly messages: Map<string, string>
}

export interface Audit {
  /** What is wrong, a sentence each. */
  readonly faults: ReadonlyArray<string>
  readonly state: State
}

/** Where a session stands after its last event. */
export interface State {
  readonly length: number
  readonly turn: OpenTurn | undefined
  /** Messages that wait, by id. */
  readonly waiting: ReadonlyMap<string, Message>
  readonly interrupted: number
}

interface Message {
  readonly id: string
  readonly isFromUser: boolean
  readonly text: string
}

interface OpenTurn {
  readonly turn: number
  step: number | undefined
  /** Calls of the open step without a result. */
  readonly unanswered: Set<string>
  /** What others than the user said: it goes back when the turn ends before the model has said anything. */
  readonly unheard: Set<string>
  answered: boolean
}

type Data = Readonly<Record<string, unknown>>

const list = (value: unknown): ReadonlyArray<Data> => (Array.isArray(value) ? (value as ReadonlyArray<Data>) : [])

const messageOf = (data: Data): Message => ({
  id: String(data.id),
  isFromUser: (data.source as Data).kind === "user",
  text: list(data.content)
    .map((block) => String(block.text))
    .join("\n")
})

/**
 * Walks the whole log. `died` are the lengths that the log had when a life was found dead: what each of them left open must be
 * closed, as `interrupted`, by the very next events.
 */
export const audit = (
  events: ReadonlyArray<SessionEvent>,
  acknowledged: Acknowledged,
  died: ReadonlySet<number>,
  options?: { readonly isOver?: boolean }
): Audit => {
  const walk = new Walk()
  for (const event of events) {
    if (died.has(event.seq)) walk.resume(event.seq)
    walk.take(event)
  }
  const faults = [...walk.faults, ...missing(events, acknowledged, walk)]
  if (options?.isOver === true) faults.push(...walk.unfinished(acknowledged))
  return { faults, state: walk.state(events.length) }
}

/** What was acknowledged and is not there as it was said. */
const missing = (
  events: ReadonlyArray<SessionEvent>,
  acknowledged: Acknowledged,
  walk: Walk
): ReadonlyArray<string> => {
  const faults: Array<string> = []
  for (const [seq, said] of acknowledged.events) {
    const event = events[seq]
    if (event === undefined) faults.push(`acknowledged event ${seq} (${said.type}) is missing`)
    else if (event.type !== said.type || JSON.stringify(event.data) !== said.data) {
      faults.push(`event ${seq} is not what was acknowledged as ${said.type}`)
    }
  }
  for (const [id, text] of acknowledged.messages) {
    if (walk.inserted.get(id)?.text !== text)
      faults.push(`accepted message ${id} ("${text}") is not in the inbox's history`)
  }
  return faults
}

class Walk {
  readonly faults: Array<string> = []
  readonly inserted = new Map<string, Message>()
  private readonly waiting = new Map<string, Message>()
  /** Claims of each message that were not taken back. */
  private readonly delivered = new Map<string, number>()
  private readonly claimed = new Set<string>()
  private turn: OpenTurn | undefined
  private lastTurn = 0
  private next = 0
  private interrupted = 0
  /** Set while the first events of a new life must close what the last one left open. */
  private closing = false

  state(length: number): State {
    return { length, turn: this.turn, waiting: this.waiting, interrupted: this.interrupted }
  }

  /** A new life begins here. */
  resume(seq: number): void {
    if (this.turn !== undefined) this.closing = true
    if (this.closing && this.claimed.size > 0)
      this.fault(seq, "a life died between the claim of a message and its delivery")
  }

  take(event: SessionEvent): void {
    if (event.seq !== this.next) this.fault(event.seq, `expected seq ${this.next}`)
    this.next = event.seq + 1
    const data = event.data as Data
    if (this.closing && !closers.has(event.type)) {
      this.fault(event.seq, `${event.type} came before the interrupted turn was closed`)
      this.closing = false
    }
    switch (event.type) {
      case "agent/inbox/spliced":
        return this.splice(event.seq, data)
      case "turn/start":
        return this.startTurn(event.seq, data)
      case "turn/end":
        return this.endTurn(event.seq, data)
      case "user/message":
        return this.deliver(event.seq, messageOf(data))
      case "step/start":
        return this.startStep(event.seq, data)
      case "step/end":
        return this.endStep(event.seq)
      case "assistant/message":
        return this.answer(event.seq, data)
      case "tool/call":
        return this.call(event.seq, String(data.callId))
      case "tool/result":
        return this.result(event.seq, String(data.callId))
    }
  }

  /** What must not be left once the last life has closed. */
  unfinished(acknowledged: Acknowledged): ReadonlyArray<string> {
    const faults: Array<string> = []
    if (this.turn !== undefined) faults.push(`turn ${this.turn.turn} is still open at the end`)
    for (const id of this.waiting.keys()) faults.push(`message ${id} still waits at the end`)
    for (const id of acknowledged.messages.keys()) {
      if (this.delivered.get(id) !== 1) {
        faults.push(`accepted message ${id} was delivered ${this.delivered.get(id) ?? 0} times`)
      }
    }
    for (const [id, times] of this.delivered) if (times > 1) faults.push(`message ${id} was delivered ${times} times`)
    return faults
  }

  private fault(seq: number, what: string): void {
    this.faults.push(`event ${seq}: ${what}`)
  }

  private splice(seq: number, data: Data): void {
    if (data.op === "insert") {
      for (const message of list(data.messages).map(messageOf)) this.insert(seq, message, data.turn !== undefined)
    } else if (data.op === "claim") {
      for (const id of data.ids as ReadonlyArray<string>) {
        if (!this.waiting.delete(id)) this.fault(seq, `message ${id} was claimed and did not wait`)
        this.claimed.add(id)
      }
    } else this.fault(seq, "nobody discards messages here")
  }

  private insert(seq: number, message: Message, isPutBack: boolean): void {
    const known = this.inserted.has(message.id)
    if (isPutBack) {
      if (!known || message.isFromUser) this.fault(seq, `message ${message.id} must not be put back`)
      this.delivered.set(message.id, (this.delivered.get(message.id) ?? 0) - 1)
      this.turn?.unheard.delete(message.id)
    } else if (known) this.fault(seq, `message ${message.id} was inserted twice`)
    this.inserted.set(message.id, message)
    this.waiting.set(message.id, message)
  }

  private deliver(seq: number, { id, isFromUser }: Message): void {
    if (this.turn === undefined) this.fault(seq, "a message was delivered outside a turn")
    if (!this.claimed.delete(id)) this.fault(seq, `message ${id} was delivered and not claimed`)
    this.delivered.set(id, (this.delivered.get(id) ?? 0) + 1)
    if (!isFromUser && this.turn?.answered === false) this.turn.unheard.add(id)
  }

  private startTurn(seq: number, data: Data): void {
    const turn = Number(data.turn)
    if (this.turn !== undefined) this.fault(seq, `turn ${turn} began within turn ${this.turn.turn}`)
    if (turn !== this.lastTurn + 1) this.fault(seq, `turn ${turn} followed turn ${this.lastTurn}`)
    this.lastTurn = turn
    this.turn = { turn, step: undefined, unanswered: new Set(), unheard: new Set(), answered: false }
  }

  private endTurn(seq: number, data: Data): void {
    const { kind } = data.reason as { readonly kind: string }
    if (this.turn?.turn !== data.turn) this.fault(seq, `turn ${data.turn} ended and was not open`)
    if (this.turn !== undefined && (this.turn.step !== undefined || this.turn.unanswered.size > 0)) {
      this.fault(seq, `turn ${data.turn} ended with an open step or call`)
    }
    for (const id of this.turn?.unheard ?? []) this.fault(seq, `message ${id} was not put back`)
    if (this.closing !== (kind === "interrupted")) this.fault(seq, `turn ${data.turn} ended as ${kind}`)
    if (kind === "interrupted") this.interrupted++
    this.closing = false
    this.turn = undefined
  }

  private startStep(seq: number, data: Data): void {
    if (this.turn === undefined || this.turn.step !== undefined)
      return this.fault(seq, "a step began at the wrong place")
    this.turn.step = Number(data.step)
  }

  private endStep(seq: number): void {
    if (this.turn?.step === undefined) return this.fault(seq, "a step ended and was not open")
    for (const id of this.turn.unanswered) this.fault(seq, `call ${id} has no result`)
    this.turn.step = undefined
    this.turn.unanswered.clear()
  }

  private answer(seq: number, data: Data): void {
    if (this.turn?.step === undefined) return this.fault(seq, "an answer came outside a step")
    this.turn.answered = true
    this.turn.unheard.clear()
    for (const block of list(data.content)) {
      if (block.type === "tool-call") this.turn.unanswered.add(String(block.callId))
    }
  }

  private call(seq: number, id: string): void {
    if (this.turn?.unanswered.has(id) !== true) this.fault(seq, `call ${id} started and was not open`)
  }

  private result(seq: number, id: string): void {
    if (this.turn?.unanswered.delete(id) !== true) this.fault(seq, `call ${id} was answered and was not open`)
  }
}

const closers: ReadonlySet<string> = new Set(["tool/result", "step/end", "agent/inbox/spliced", "turn/end"])
