import { racesForTheEnd } from "./support/races.js"

racesForTheEnd(100)
