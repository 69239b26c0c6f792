/**
 * What the demo's model says.
 *
 * @since 0.1.0
 */
import type { Definition } from "@afterturn/testing/Script"
import type { TodoItem, TodoStatus } from "@afterturn/todo/TodoItem"

const write = (...todos: ReadonlyArray<readonly [TodoStatus, string]>) => ({
  tool: "todo_write",
  input: { todos: todos.map(([status, content]): TodoItem => ({ content, status })) }
})

const notes = "Write the release notes"
const version = "Bump the version to 0.2.0"
const tag = "Tag the commit"
const website = "Announce it on the website"
const newsletter = "Send the newsletter"
const build = "Build the package"

/** A second or two of real work, which needs nothing but a shell. */
const buildCommand = 'for step in compile test pack; do sleep 0.5; printf "%s: ok\\n" "$step"; done'

/**
 * The person's part, in the order of the story.
 *
 * @since 0.1.0
 * @category constants
 */
export const messages = {
  plan: "Get release 0.2 ready: notes, version, tag.",
  announce: "Then announce it, on the website and in the newsletter.",
  left: "What is left to do?",
  hold: "Hold the release back until Monday instead."
} as const

/**
 * What the session is to achieve by itself.
 *
 * @since 0.1.0
 * @category constants
 */
export const objective = "The package of release 0.2 is built, and somebody has looked at what the build wrote."

/**
 * The model's part: what answers each of these, and what it says to anything else.
 *
 * @since 0.1.0
 * @category constants
 */
export const script: Definition = {
  rules: [
    {
      on: "user",
      match: "^Get release",
      steps: [
        {
          text: "Three things to do. I write them down first.",
          calls: [write(["in_progress", notes], ["pending", version], ["pending", tag])]
        },
        {
          text: "The notes are written.",
          calls: [write(["completed", notes], ["in_progress", version], ["pending", tag])]
        },
        {
          text: "The version is 0.2.0 everywhere.",
          calls: [write(["completed", notes], ["completed", version], ["in_progress", tag])]
        },
        {
          text: "The tag is set.",
          calls: [write(["completed", notes], ["completed", version], ["completed", tag])]
        },
        { text: "Release 0.2 is ready." }
      ]
    },
    {
      on: "user",
      match: "^Then announce",
      steps: [
        { calls: [write(["in_progress", website], ["pending", newsletter])] },
        {
          text: "The website has the news.",
          calls: [write(["completed", website], ["in_progress", newsletter])]
        },
        { text: "The newsletter is drafted, and goes out once you have read it." }
      ]
    },
    {
      on: "goal-round",
      match: "^Round 1 of",
      steps: [
        {
          text: "I start the build, in the background.",
          calls: [
            write(["completed", website], ["in_progress", newsletter], ["in_progress", build]),
            {
              tool: "bash",
              input: { description: "Build the package", command: buildCommand, run_in_background: true }
            }
          ]
        },
        { text: "It builds. I need not wait for it: I am told when it is done." }
      ]
    },
    {
      on: "job-notice",
      match: "background job finished",
      steps: [
        {
          text: "The build has ended. I look at what it wrote.",
          calls: [{ tool: "job_output", input: { job_id: "{{job}}" } }]
        },
        { calls: [write(["completed", website], ["in_progress", newsletter], ["completed", build])] },
        { text: "The package is built: compiled, tested, packed." }
      ]
    },
    {
      on: "goal-round",
      match: "^Round 2 of",
      steps: [
        { calls: [{ tool: "get_goal", input: {} }] },
        {
          text: "That is all that the goal asks for.",
          calls: [
            {
              tool: "update_goal",
              input: { goal_id: "{{result.goal.id}}", revision: "{{result.goal.revision}}", action: "complete" }
            }
          ]
        },
        { text: "The goal is reached." }
      ]
    },
    {
      on: "user",
      match: "^What is left to do",
      steps: [
        {
          text: "One thing: the newsletter. I ask about it again in a moment.",
          calls: [
            write(["completed", website], ["in_progress", newsletter]),
            {
              tool: "schedule_create",
              input: { title: "Newsletter", prompt: "Ask whether the newsletter may go out.", after_seconds: 1 }
            }
          ]
        },
        { text: "It is drafted and waits for you." }
      ]
    },
    { on: "reminder", match: "Newsletter", steps: [{ text: "The newsletter is still here. May it go out?" }] },
    {
      on: "user",
      match: "^(?!What is left to do).*\\b(left|todo)\\b",
      repeat: true,
      steps: [
        { text: "One thing: the newsletter.", calls: [write(["completed", website], ["in_progress", newsletter])] },
        { text: "It is drafted and waits for you." }
      ]
    },
    {
      on: "user",
      match: "^Hold the release",
      steps: [
        { calls: [write(["completed", notes], ["completed", version], ["pending", "Release on Monday"])] },
        { text: "Then the tag comes off, and Monday it is." }
      ]
    }
  ],
  otherwise: [{ text: "My script ends here. Ask me what is left, or try /todo and /help." }]
}
