/** The areas: one import and one word each; their order means nothing. */
import { areas as contract } from "@svc/contract"
import { computers } from "./areas/computers/module.ts"
import { cron } from "./areas/cron/module.ts"
import { databases } from "./areas/databases/module.ts"
import { email } from "./areas/email/module.ts"
import { encryption } from "./areas/encryption/module.ts"
import { events } from "./areas/events/module.ts"
import { functions } from "./areas/functions/module.ts"
import { integrations } from "./areas/integrations/module.ts"
import { kv } from "./areas/kv/module.ts"
import { notifications } from "./areas/notifications/module.ts"
import { sandboxes } from "./areas/sandboxes/module.ts"
import { search } from "./areas/search/module.ts"
import { storage } from "./areas/storage/module.ts"
import { support } from "./areas/support/module.ts"
import { vectors } from "./areas/vectors/module.ts"
import { webhooks } from "./areas/webhooks/module.ts"
import type { Module } from "./services.ts"

/** The areas that the core serves itself. */
export const coreAreas = [
  contract.identity,
  contract.account,
  contract.organizations,
  contract.projects,
  contract.keys,
  contract.approvals,
]

export const modules: readonly Module[] = [
  computers,
  cron,
  databases,
  email,
  encryption,
  events,
  functions,
  integrations,
  kv,
  notifications,
  sandboxes,
  search,
  storage,
  support,
  vectors,
  webhooks,
]
