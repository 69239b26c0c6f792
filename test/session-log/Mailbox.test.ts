import { layerMemory } from "@afterturn/session-log/Mailbox"
import { contract } from "../support/contracts/Mailbox.js"

contract("memory", layerMemory)
