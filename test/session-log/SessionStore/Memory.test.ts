import * as Memory from "@afterturn/session-log/SessionStore/Memory"
import { contract } from "../../support/contracts/SessionStore.js"

contract("memory", Memory.layer)
