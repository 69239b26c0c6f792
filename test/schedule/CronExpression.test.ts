import * as CronExpression from "@afterturn/schedule/CronExpression"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"

const read = (expression: string) => Either.getOrThrow(CronExpression.parse(expression))

const problem = (expression: string) => Either.getOrThrow(Either.flip(CronExpression.parse(expression))).message

const span = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index)

describe("an expression", () => {
  it("has lists, ranges and steps", () => {
    assert.deepStrictEqual(read("*/15 9-17/2 1,15,10-12 * *"), {
      minutes: [0, 15, 30, 45],
      hours: [9, 11, 13, 15, 17],
      dates: [1, 10, 11, 12, 15],
      months: span(1, 12),
      weekdays: span(0, 6),
      eitherDay: false
    })
  })

  it("names months and weekdays in any letter case", () => {
    const { months, weekdays } = read("0 0 * jan,MAR-May Mon-fri,SUN")
    assert.deepStrictEqual(months, [1, 3, 4, 5])
    assert.deepStrictEqual(weekdays, [0, 1, 2, 3, 4, 5])
  })

  it("takes Sunday as 0 and as 7, also at the end of a range", () => {
    assert.deepStrictEqual(read("0 0 * * 0").weekdays, [0])
    assert.deepStrictEqual(read("0 0 * * 7").weekdays, [0])
    assert.deepStrictEqual(read("0 0 * * 5-7").weekdays, [0, 5, 6])
    assert.deepStrictEqual(read("0 0 * * */2").weekdays, [0, 2, 4, 6])
  })

  it("matches either day field when neither begins with a star", () => {
    assert.isTrue(read("0 0 13 * 5").eitherDay)
    assert.isTrue(read("0 0 1-31 * 5").eitherDay)
    assert.isTrue(read("0 0 13,* * 5").eitherDay)
    assert.isFalse(read("0 0 */2 * 5").eitherDay)
    assert.isFalse(read("0 0 *,13 * 5").eitherDay)
    assert.isFalse(read("0 0 13 * */2").eitherDay)
  })

  it("has its fields apart by blanks and tabs, however many", () => {
    assert.deepStrictEqual(read("  0 \t 9  * *\t* "), read("0 9 * * *"))
  })

  it("may step over more than its field has", () => {
    assert.deepStrictEqual(read("*/45 * * * *").minutes, [0, 45])
    assert.deepStrictEqual(read("*/90 * * * *").minutes, [0])
  })
})

describe("what is refused", () => {
  it("says what to write instead", () => {
    for (const [expression, hint] of [
      ["@daily", 'write "0 0 * * *"'],
      ["@Hourly", 'write "0 * * * *"'],
      ["* * * * * *", "got 6 in"],
      ["* * * * * *", "every_seconds"],
      ["0 9 * *", "got 4 in"],
      ["", "got 0 in"],
      ["0 9 L * *", "L, W and # are not supported"],
      ["0 9 15W * *", "L, W and # are not supported"],
      ["0 9 * * 1#2", "L, W and # are not supported"],
      ["0 9 * * 5L", "L, W and # are not supported"],
      ["0 9 ? * 1", "write *"],
      ["0 22-2 * * *", "write 22-23,0-2"],
      ["0 9 * * fri-sun", "write 5-7"],
      ["0 9 * * 5-1", "write 5-6,0-1"],
      ["60 * * * *", "60 is outside 0-59"],
      ["* 24 * * *", "24 is outside 0-23"],
      ["* * 0 * *", "0 is outside 1-31"],
      ["* * * 13 *", "13 is outside 1-12"],
      ["* * * * 8", "8 is outside 0-7"],
      ["*/0 * * * *", "a step is a number from 1"],
      ["*/ * * * *", "a step is a number from 1"],
      ["*/5/5 * * * *", "a step is a number from 1"],
      ["5/10 * * * *", "write 5-59/10"],
      ["0 9 1,,15 * *", "a value is missing"],
      ["0 9 ,1 * *", "a value is missing"],
      ["-5 * * * *", "a value is missing"],
      ["1-2-3 * * * *", "is no range"],
      ["*-5 * * * *", "is no value of it"],
      ["0 9 * january *", "is no value of it"],
      ["mon * * * *", "is no value of it"],
      ["1.5 * * * *", "is no value of it"],
      ["+5 * * * *", "is no value of it"],
      ["0 9 * * *\n0", "is no value of it"]
    ] as const) {
      assert.include(problem(expression), hint, expression)
    }
  })

  it("is a date that no month has", () => {
    for (const expression of ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6,9,11 *", "0 0 31 2 */2"]) {
      assert.include(problem(expression), "never occurs")
    }
    for (const expression of ["0 0 29 2 *", "0 0 31 4,5 *", "0 0 31 2 1", "0 0 29 2 */7"]) read(expression)
  })

  it("is answered, never thrown, and names no more of it than fits a message", () => {
    assert.isBelow(problem("x".repeat(1_000_000)).length, 300)
    assert.isBelow(problem(`${"1,".repeat(200)}x * * * *`).length, 300)
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[0-9*/,a-zA-Z-]{0,6}$/), { minLength: 4, maxLength: 6 }), (fields) => {
        CronExpression.parse(fields.join(" "))
      })
    )
  })
})
