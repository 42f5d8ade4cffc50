import { area } from "./dsl.ts"

export const support = area(
  "support",
  { title: "Support", summary: "Tickets and chats with whoever runs the platform", project: "none" },
  {},
)
