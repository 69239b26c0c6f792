/** The days on which a calendar rule comes due. */
import { civilOf, dayOf, daysInMonth, weekdayOf } from "./civil.js"

export interface Days {
  readonly matches: (day: number) => boolean
  /** The first at or after a day and not after a limit; beyond the limit when there is none. */
  readonly atOrAfter: (day: number, limit: number) => number
}

const bits = (values: ReadonlyArray<number>): number => values.reduce((mask, value) => mask | (1 << value), 0)

export const everyDay: Days = { matches: () => true, atOrAfter: (day) => day }

/** Weekdays with Sunday as 0. */
export const onWeekdays = (weekdays: ReadonlyArray<number>): Days => {
  const mask = bits(weekdays)
  const matches = (day: number) => ((mask >> weekdayOf(day)) & 1) === 1
  return {
    matches,
    atOrAfter: (day) => {
      let found = day
      while (!matches(found)) found++
      return found
    }
  }
}

/** Days of months, by date, weekday or either. */
export const onDates = (fields: {
  readonly dates: ReadonlyArray<number>
  readonly months: ReadonlyArray<number>
  readonly weekdays: ReadonlyArray<number>
  readonly eitherDay: boolean
}): Days => {
  const dates = bits(fields.dates)
  const months = bits(fields.months)
  const weekdays = bits(fields.weekdays)
  const fits = (date: number, weekday: number): boolean => {
    const byDate = ((dates >>> date) & 1) === 1
    const byWeekday = ((weekdays >> weekday) & 1) === 1
    return fields.eitherDay ? byDate || byWeekday : byDate && byWeekday
  }
  const inMonth = (month: number) => ((months >> month) & 1) === 1
  return {
    matches: (day) => {
      const { date, month } = civilOf(day)
      return inMonth(month) && fits(date, weekdayOf(day))
    },
    atOrAfter: (day, limit) => {
      let { date, month, year } = civilOf(day)
      let first = day - date + 1
      while (first <= limit) {
        const length = daysInMonth(year, month)
        if (inMonth(month)) {
          for (; date <= length; date++) {
            const candidate = first + date - 1
            if (fits(date, weekdayOf(candidate))) return candidate
          }
        }
        first += length
        date = 1
        month = month === 12 ? 1 : month + 1
        if (month === 1) year++
      }
      return Math.max(first, dayOf(10_000, 1, 1))
    }
  }
}
