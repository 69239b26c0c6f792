/** What several commands take. */
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Approve from "../../Approve.js"
import { argument, duration, flag, nonEmpty, oneOf, option, positive, sessionId } from "../parameters.js"

export const text = (...paragraphs: ReadonlyArray<string>) =>
  HelpDoc.blocks(paragraphs.map((paragraph) => HelpDoc.p(paragraph)))

export const db = option(
  "db",
  "DATABASE",
  "The database: a file, or postgres://user@host/database. Default: $AFTERTURN_DB, else afterturn/afterturn.db in the XDG data folder. " +
    "A password is better kept in $AFTERTURN_DB or in $PGPASSWORD, where other users of the machine cannot see it.",
  nonEmpty
)

export const json = flag("json", "Results as JSON on stdout, errors as JSON on stderr.")

export const model = option(
  "model",
  "ROUTE",
  "The model: anthropic:NAME, openai:NAME or scripted:FILE. Default: $AFTERTURN_MODEL, else a model of the provider whose key is in " +
    "$ANTHROPIC_API_KEY or $OPENAI_API_KEY.",
  nonEmpty
)

export const baseUrl = option(
  "base-url",
  "URL",
  "A server that is compatible with the model's provider. Default: $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, else the provider's own.",
  nonEmpty
)

export const approve = option(
  "approve",
  "POLICY",
  "Whether commands that the agent wants to run are allowed: allow, deny, or ask, which denies where nobody can answer. Default: " +
    "allow for a scripted model, else ask.",
  oneOf(Approve.policies)
)

export const id = argument("ID", "The session.", sessionId)

export const maxRounds = option("max-rounds", "N", "How many rounds a goal may have. Default: 256.", positive)

export const maxTokens = option(
  "max-tokens",
  "N",
  "How many tokens the model may use for a goal. Default: no limit.",
  positive
)

export const maxDuration = option(
  "max-duration",
  "DURATION",
  "How long a goal may be active, such as 30m or 2h. Default: no limit.",
  duration
)
