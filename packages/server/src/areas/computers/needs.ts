import type { NeedsOf } from "../../services.ts"

/** What the platform hands to this area, and nothing else. */
export const needs = [
  "database",
  "changes",
  "clock",
  "keys",
  "log",
  "box",
  "meters",
  "platformEvents",
  "runtime",
  "hosts",
  "images",
  "ssh",
  "sshClients",
  "audit",
  "stopping",
] as const
export type Needs = NeedsOf<typeof needs>
