/** How the time zone database spells its names, which the runtime finds in any letter case and answers under other names. */

/** Words that are not written with one capital at their start. */
const words: Readonly<Record<string, string>> = {
  act: "ACT",
  au: "au",
  bajanorte: "BajaNorte",
  bajasur: "BajaSur",
  comodrivadavia: "ComodRivadavia",
  denoronha: "DeNoronha",
  dumontdurville: "DumontDUrville",
  easterisland: "EasterIsland",
  es: "es",
  gmt: "GMT",
  gmt0: "GMT0",
  in: "IN",
  lhi: "LHI",
  mcmurdo: "McMurdo",
  nsw: "NSW",
  of: "of",
  uct: "UCT",
  us: "US",
  utc: "UTC"
}

const word = (lower: string): string => words[lower] ?? lower.charAt(0).toUpperCase() + lower.slice(1)

/** A name in the database's letter case. */
export const spelled = (name: string): string => name.toLowerCase().replace(/[a-z0-9]+/g, word)

/** Names that the runtime's own list has under an older spelling, or not at all. */
const alsoKnown = [
  "Africa/Asmara",
  "America/Argentina/Buenos_Aires",
  "America/Argentina/Catamarca",
  "America/Argentina/Cordoba",
  "America/Argentina/Jujuy",
  "America/Argentina/Mendoza",
  "America/Atikokan",
  "America/Indiana/Indianapolis",
  "America/Kentucky/Louisville",
  "America/Nuuk",
  "Asia/Ho_Chi_Minh",
  "Asia/Kathmandu",
  "Asia/Kolkata",
  "Asia/Yangon",
  "Atlantic/Faroe",
  "Europe/Kyiv",
  "Pacific/Chuuk",
  "Pacific/Kanton",
  "Pacific/Pohnpei"
]

/** What zones people mean by what is no name of one. */
const meant: Readonly<Record<string, ReadonlyArray<string>>> = {
  z: ["UTC"],
  gmt: ["UTC", "Europe/London"],
  zulu: ["UTC"],
  bst: ["Europe/London"],
  wet: ["Europe/Lisbon"],
  cet: ["Europe/Berlin", "Europe/Paris"],
  cest: ["Europe/Berlin", "Europe/Paris"],
  met: ["Europe/Berlin"],
  eet: ["Europe/Athens", "Europe/Helsinki"],
  eest: ["Europe/Athens", "Europe/Helsinki"],
  msk: ["Europe/Moscow"],
  ist: ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"],
  jst: ["Asia/Tokyo"],
  sgt: ["Asia/Singapore"],
  est: ["America/New_York", "America/Panama"],
  edt: ["America/New_York"],
  est5edt: ["America/New_York"],
  cst: ["America/Chicago", "Asia/Shanghai"],
  cdt: ["America/Chicago"],
  cst6cdt: ["America/Chicago"],
  mst: ["America/Denver", "America/Phoenix"],
  mdt: ["America/Denver"],
  mst7mdt: ["America/Denver"],
  pst: ["America/Los_Angeles"],
  pdt: ["America/Los_Angeles"],
  pst8pdt: ["America/Los_Angeles"],
  hst: ["Pacific/Honolulu"],
  aest: ["Australia/Sydney", "Australia/Brisbane"],
  aedt: ["Australia/Sydney"],
  nzst: ["Pacific/Auckland"],
  nzdt: ["Pacific/Auckland"],
  "-09:30": ["Pacific/Marquesas"],
  "-03:30": ["America/St_Johns"],
  "+03:30": ["Asia/Tehran"],
  "+04:30": ["Asia/Kabul"],
  "+05:30": ["Asia/Kolkata"],
  "+05:45": ["Asia/Kathmandu"],
  "+06:30": ["Asia/Yangon"],
  "+08:45": ["Australia/Eucla"],
  "+09:30": ["Australia/Darwin", "Australia/Adelaide"],
  "+10:30": ["Australia/Lord_Howe"],
  "+12:45": ["Pacific/Chatham"]
}

/** Reads `+2`, `+0200`, `+02:00`, `UTC+2`, `GMT-02:00`. */
const offsetOf = (name: string): { readonly hours: number; readonly minutes: number } | undefined => {
  const [, sign, hours = "", minutes = "00"] = /^(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?(\d{2}))?$/i.exec(name) ?? []
  return sign === undefined ? undefined : { hours: Number(hours) * (sign === "-" ? -1 : 1), minutes: Number(minutes) }
}

const ofOffset = (name: string): ReadonlyArray<string> | undefined => {
  const offset = offsetOf(name)
  if (offset === undefined) return undefined
  const { hours, minutes } = offset
  if (hours === 0 && minutes === 0) return ["UTC"]
  // The signs of these names are those of POSIX: west is positive.
  if (minutes === 0) return hours >= -12 && hours <= 14 ? [`Etc/GMT${hours < 0 ? "+" : "-"}${Math.abs(hours)}`] : []
  const [, sign = "+"] = /([+-])/.exec(name) ?? []
  return meant[`${sign}${String(Math.abs(hours)).padStart(2, "0")}:${minutes}`] ?? []
}

let known: ReadonlyArray<string> | undefined

const candidates = (): ReadonlyArray<string> => {
  known ??= [
    ...new Set([...Intl.supportedValuesOf("timeZone").filter((name) => name.includes("/")), ...alsoKnown, "UTC"])
  ]
  return known
}

const maxSuggestions = 3

/** Names that may have been meant by one that there is not, the likeliest first. */
export const suggestionsFor = (name: string): ReadonlyArray<string> => {
  const text = name.trim().slice(0, 60).toLowerCase().replaceAll(" ", "_")
  const certain = meant[text] ?? ofOffset(text)
  if (certain !== undefined || text === "") return certain ?? []
  const most = Math.max(1, Math.floor(text.length / 5))
  const scored = candidates()
    .map((candidate) => ({ candidate, score: scoreOf(text, candidate.toLowerCase(), most) }))
    .filter(({ score }) => score <= most)
    .sort((a, b) => a.score - b.score || (a.candidate < b.candidate ? -1 : 1))
  const best = scored[0]?.score ?? 0
  return scored
    .filter(({ score }) => score <= best + 1)
    .slice(0, maxSuggestions)
    .map(({ candidate }) => candidate)
}

/** Letters that differ, of interest up to so many. A city counts as much as its whole name, or one letter less under another continent. */
const scoreOf = (text: string, candidate: string, most: number): number => {
  const city = candidate.slice(candidate.lastIndexOf("/") + 1)
  if (text.endsWith(`/${city}`)) return text === candidate ? 0 : 1
  return Math.min(distance(text, candidate, most), text.includes("/") ? most + 1 : distance(text, city, most))
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
const distance = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let beforeLast: Array<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      let least = Math.min(replaced, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (beforeLast[j - 2] ?? 0) + 1)
      }
      row.push(least)
    }
    beforeLast = last
    last = row
  }
  return last[b.length] ?? 0
}
