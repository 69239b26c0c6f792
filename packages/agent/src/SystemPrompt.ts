/**
 * The system prompt: ordered sections that capabilities contribute.
 *
 * @since 0.1.0
 */

import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Agent } from "./Agent.js"
import { AgentConfig } from "./AgentConfig.js"

/**
 * A section. Sections stand in order of `order`, then of registration; an empty text is left out. `text` is evaluated at each
 * turn's start.
 *
 * @since 0.1.0
 * @category models
 */
export interface Section {
  readonly key: string
  readonly order: number
  readonly text: (agent: Agent) => Effect.Effect<string>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SystemPrompt extends Context.Tag("@afterturn/agent/SystemPrompt")<
  SystemPrompt,
  {
    /** Adds a section, or replaces the one of the same key. */
    readonly section: (section: Section) => Effect.Effect<void>
    /** The prompt for a turn of this agent that starts now. */
    readonly render: (agent: Agent) => Effect.Effect<string>
  }
>() {}

/**
 * The time section: without it no model can say when "tomorrow at nine" is. The formatter is made once: making one takes longer than
 * the rest of a turn's prompt.
 */
const timeSection = (timeZone: string): Section => {
  const formatter = Option.map(DateTime.zoneMakeNamed(timeZone), () => formatterOf(timeZone))
  return {
    key: "time",
    order: 900,
    text: () =>
      Effect.map(DateTime.now, (now) => {
        const local = Option.match(formatter, {
          onNone: () => "",
          onSome: (named) =>
            ` In the user's time zone, ${timeZone}, it is ${named.format(DateTime.toEpochMillis(now))}.`
        })
        return `It is ${DateTime.formatIso(now)} as this turn starts.${local}`
      })
  }
}

const formatterOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-GB", {
    weekday: "long",
    year: "numeric",
    month: "long",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "longOffset",
    timeZone
  })

/**
 * The time section, and an introduction where one is given.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: { readonly introduction?: string }): Layer.Layer<SystemPrompt, never, AgentConfig> =>
  Layer.effect(
    SystemPrompt,
    Effect.map(AgentConfig, (config) => {
      const sections = new Map<string, Section>([["time", timeSection(config.timeZone)]])
      if (options?.introduction !== undefined) {
        const introduction = options.introduction
        sections.set("introduction", { key: "introduction", order: 0, text: () => Effect.succeed(introduction) })
      }
      return {
        section: (section) => Effect.sync(() => void sections.set(section.key, section)),
        render: (agent) =>
          Effect.map(
            Effect.forEach(
              [...sections.values()].sort((a, b) => a.order - b.order),
              (section) => section.text(agent)
            ),
            (texts) => texts.filter((text) => text !== "").join("\n\n")
          )
      }
    })
  )
