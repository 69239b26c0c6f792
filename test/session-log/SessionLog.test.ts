import { layerMemory } from "@afterturn/session-log/SessionLog"
import { contract } from "../support/contracts/SessionLog.js"

contract("memory", layerMemory)
