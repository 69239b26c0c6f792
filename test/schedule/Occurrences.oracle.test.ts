import { assert, describe, it } from "@effect/vitest"
import { compareAround, nextChange } from "./support/oracle.js"

/** Each of these changes its clocks in a way of its own, from that year on. */
const peculiar: ReadonlyArray<readonly [string, number]> = [
  ["Africa/Cairo", 2026],
  ["Africa/Casablanca", 2026],
  ["Africa/Monrovia", 1971],
  ["America/Argentina/San_Luis", 2008],
  ["America/Caracas", 2007],
  ["America/Havana", 2026],
  ["America/Juneau", 1983],
  ["America/Noronha", 2000],
  ["America/Nuuk", 2023],
  ["America/Santiago", 2026],
  ["America/Sao_Paulo", 2018],
  ["America/St_Johns", 1988],
  ["Antarctica/Troll", 2026],
  ["Asia/Gaza", 2026],
  ["Asia/Kathmandu", 1985],
  ["Asia/Pyongyang", 2015],
  ["Asia/Tehran", 2022],
  ["Australia/Lord_Howe", 2026],
  ["Europe/Dublin", 2026],
  ["Europe/Istanbul", 2016],
  ["Pacific/Apia", 2011],
  ["Pacific/Kiritimati", 1994],
  ["Pacific/Kwajalein", 1993],
  ["Pacific/Norfolk", 2015]
]

const compare = (zone: string, year: number, changes: number): number => {
  let compared = 0
  let after = Date.UTC(year, 0)
  for (let count = 0; count < changes; count++) {
    const change = nextChange(zone, after)
    if (change === undefined) break
    const { instants, wrong } = compareAround(zone, change)
    assert.deepStrictEqual(wrong, [])
    compared += instants
    after = change
  }
  return compared
}

describe("occurrences around changes of clocks, beside another implementation", () => {
  it("are the same where zones are peculiar", () => {
    for (const [zone, year] of peculiar) assert.isAbove(compare(zone, year, 2), 0, zone)
  })

  it("are the same in zones and years from all over", () => {
    let compared = 0
    for (const [index, zone] of Intl.supportedValuesOf("timeZone").entries()) {
      if (zone.includes("/") && index % 14 === 5) compared += compare(zone, 1970 + ((index * 7) % 67), 1)
    }
    assert.isAbove(compared, 0)
  })
})
