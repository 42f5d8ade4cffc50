/** The areas, in the order of the specification. */
import { account } from "./account.ts"
import { advice } from "./advice.ts"
import { ai } from "./ai.ts"
import { aiDocuments } from "./ai-documents.ts"
import { rag } from "./ai-rag.ts"
import { research } from "./ai-research.ts"
import { aiText } from "./ai-text.ts"
import { approvals } from "./approvals.ts"
import { auth } from "./auth.ts"
import { billing } from "./billing.ts"
import { billingPages } from "./billing-pages.ts"
import { builds } from "./builds.ts"
import { compliance } from "./compliance.ts"
import { computers } from "./computers.ts"
import { connectedApps } from "./connected-apps.ts"
import { cron } from "./cron.ts"
import { databases } from "./databases.ts"
import { deployments } from "./deployments.ts"
import { domains } from "./domains.ts"
import type { Area, Operation } from "./dsl.ts"
import { email } from "./email.ts"
import { encryption } from "./encryption.ts"
import { events } from "./events.ts"
import { functions } from "./functions.ts"
import { identity } from "./identity.ts"
import { integrations } from "./integrations.ts"
import { keys } from "./keys.ts"
import { kv } from "./kv.ts"
import { lb } from "./lb.ts"
import { mcp } from "./mcp.ts"
import { notifications } from "./notifications.ts"
import { oauth } from "./oauth.ts"
import { oauthPages } from "./oauth-pages.ts"
import { organizations } from "./organizations.ts"
import { projects } from "./projects.ts"
import { registry } from "./registry.ts"
import { run } from "./run.ts"
import { s3 } from "./s3.ts"
import { sandboxes } from "./sandboxes.ts"
import { schema } from "./schema.ts"
import { search } from "./search.ts"
import { sql } from "./sql.ts"
import { storage } from "./storage.ts"
import { support } from "./support.ts"
import { usage } from "./usage.ts"
import { vectors } from "./vectors.ts"
import { vpc } from "./vpc.ts"
import { waf } from "./waf.ts"
import { webhooks } from "./webhooks.ts"

export const areas = {
  identity,
  databases,
  sql,
  advice,
  schema,
  encryption,
  mcp,
  billing,
  billingPages,
  email,
  ai,
  aiDocuments,
  aiText,
  rag,
  research,
  storage,
  s3,
  builds,
  registry,
  kv,
  cron,
  computers,
  sandboxes,
  functions,
  run,
  deployments,
  events,
  integrations,
  vectors,
  vpc,
  waf,
  webhooks,
  search,
  notifications,
  support,
  oauth,
  oauthPages,
  connectedApps,
  auth,
  account,
  organizations,
  projects,
  keys,
  approvals,
  usage,
  compliance,
  lb,
  domains,
} as const

export const allAreas: readonly Area[] = Object.values(areas)

export const allOperations: readonly Operation[] = allAreas.flatMap(area => Object.values(area.operations))
