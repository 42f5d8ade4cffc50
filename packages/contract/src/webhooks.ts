import { area } from "./dsl.ts"

export const webhooks = area(
  "webhooks",
  { title: "Webhooks", summary: "Endpoints that are told what happens in the organization", project: "none" },
  {},
)
