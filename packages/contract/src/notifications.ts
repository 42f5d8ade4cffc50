import { area } from "./dsl.ts"

export const notifications = area(
  "notifications",
  {
    title: "Notifications",
    summary: "Messages to people, in the app and on their devices",
    project: "optional",
  },
  {},
)
