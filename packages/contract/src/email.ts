import { area } from "./dsl.ts"

export const email = area(
  "email",
  {
    title: "Email",
    summary: "Templates, sending, domains and what became of each mail",
    project: "optional",
  },
  {},
)
