import { area } from "./dsl.ts"

export const encryption = area(
  "encryption",
  { title: "Encryption", summary: "Encrypt and decrypt with a key of the tenant's own", project: "none" },
  {},
)
