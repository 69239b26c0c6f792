export * as Caretaker from "./Caretaker.js"
export * as Cluster from "./Cluster.js"
export * as SessionEntity from "./SessionEntity.js"
export * as SessionProtocol from "./SessionProtocol.js"
