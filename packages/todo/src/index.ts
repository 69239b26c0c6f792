export * as TodoConfig from "./TodoConfig.js"
export * as TodoItem from "./TodoItem.js"
export * as TodoList from "./TodoList.js"
export * as TodoLog from "./TodoLog.js"
