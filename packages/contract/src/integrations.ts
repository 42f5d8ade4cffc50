import { area } from "./dsl.ts"

export const integrations = area(
  "integrations",
  { title: "Integrations", summary: "Repositories whose pushes the platform hears of", project: "required" },
  {},
)
