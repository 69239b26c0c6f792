/**
 * Dates and times of day as numbers: a day counts from 1970-01-01, a local time ("label") is the milliseconds that its clock face
 * would be since the epoch if it were UTC.
 */

export const DAY = 86_400_000
export const HOUR = 3_600_000
export const MINUTE = 60_000

/** 0000-01-01T00:00:00.000 and 9999-12-31T23:59:59.999: the years that have four digits. */
export const minMillis = -62_167_219_200_000
export const maxMillis = 253_402_300_799_999

export interface Civil {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  /** 1 to 31. */
  readonly date: number
}

/** Days since 1970-01-01 in the proleptic Gregorian calendar, counted in eras of 400 years that begin in March. */
export const dayOf = (year: number, month: number, date: number): number => {
  const shifted = month > 2 ? year : year - 1
  const era = Math.floor(shifted / 400)
  const yearOfEra = shifted - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + date - 1
  return era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
}

/** The inverse of `dayOf`. */
export const civilOf = (day: number): Civil => {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const dayOfEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365
  )
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    date: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1
  }
}

/** Sunday 0 to Saturday 6. */
export const weekdayOf = (day: number): number => (((day + 4) % 7) + 7) % 7

export const daysInMonth = (year: number, month: number): number =>
  month === 2
    ? (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
      ? 29
      : 28
    : month === 4 || month === 6 || month === 9 || month === 11
      ? 30
      : 31

const two = (value: number): string => String(value).padStart(2, "0")

const dateText = ({ date, month, year }: Civil): string => `${String(year).padStart(4, "0")}-${two(month)}-${two(date)}`

/** Milliseconds of a day as `HH:mm:ss`, with `.SSS` where there are some. */
const timeText = (millis: number): string => {
  const seconds = Math.floor(millis / 1000)
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  return millis % 1000 === 0 ? clock : `${clock}.${String(millis % 1000).padStart(3, "0")}`
}

/** A label as `YYYY-MM-DDTHH:mm:ss`, with `.SSS` where there are some. */
export const labelText = (label: number): string => {
  const day = Math.floor(label / DAY)
  return `${dateText(civilOf(day))}T${timeText(label - day * DAY)}`
}

/** An offset as `+HH:mm`, with `:ss` where there are some. */
export const offsetText = (offset: number): string => {
  const clock = timeText(Math.abs(offset))
  return `${offset < 0 ? "-" : "+"}${clock.endsWith(":00") ? clock.slice(0, -3) : clock}`
}
