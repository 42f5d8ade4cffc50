import { area } from "./dsl.ts"
import { emailDomainOperations } from "./email-domains.ts"
import { emailSending } from "./email-sending.ts"

export const email = area(
  "email",
  {
    title: "Email",
    summary: "Templates, sending, domains and what became of each mail",
    project: "optional",
    belongs: "project",
  },
  { ...emailSending, ...emailDomainOperations },
)
