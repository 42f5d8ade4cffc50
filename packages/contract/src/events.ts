import { area } from "./dsl.ts"

export const events = area(
  "events",
  {
    title: "Events",
    summary: "Topics, and subscriptions that are told of what is published",
    project: "optional",
  },
  {},
)
