import { area } from "./dsl.ts"

export const storage = area(
  "storage",
  {
    title: "Storage",
    summary: "Buckets and objects",
    project: "required",
    refusals: { project: "storage_project_required" },
  },
  {},
)
