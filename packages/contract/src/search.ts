import { area } from "./dsl.ts"

export const search = area(
  "search",
  { title: "Search", summary: "Full-text search over what a project chooses to index", project: "required" },
  {},
)
