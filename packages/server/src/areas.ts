/** The areas, in the order in which they start, and the tables of all. */
import { fileURLToPath } from "node:url"
import { areas as contract } from "@svc/contract"
import { computersArea } from "./areas/computers/area.ts"
import { cronArea } from "./areas/cron/area.ts"
import { databasesArea } from "./areas/databases/area.ts"
import { emailArea } from "./areas/email/area.ts"
import { encryptionArea } from "./areas/encryption/area.ts"
import { eventsArea } from "./areas/events/area.ts"
import { functionsArea } from "./areas/functions/area.ts"
import { integrationsArea } from "./areas/integrations/area.ts"
import { kvArea } from "./areas/kv/area.ts"
import { notificationsArea } from "./areas/notifications/area.ts"
import { sandboxesArea } from "./areas/sandboxes/area.ts"
import { searchArea } from "./areas/search/area.ts"
import { storageArea } from "./areas/storage/area.ts"
import { supportArea } from "./areas/support/area.ts"
import { vectorsArea } from "./areas/vectors/area.ts"
import { webhooksArea } from "./areas/webhooks/area.ts"
import { coreMigrations, secretsMigrations } from "./core/core.ts"
import { deliveriesMigrations } from "./core/deliveries/open.ts"
import type { AreaDefinition } from "./kernel/area.ts"
import type { MigrationSource } from "./kernel/db/migrate.ts"
import type { Services } from "./services.ts"

/** The areas that the core serves itself. */
export const coreAreas = [
  contract.identity,
  contract.account,
  contract.organizations,
  contract.projects,
  contract.keys,
  contract.approvals,
]

export const areaDefinitions: readonly AreaDefinition<Services>[] = [
  databasesArea,
  encryptionArea,
  emailArea,
  storageArea,
  kvArea,
  functionsArea,
  cronArea,
  eventsArea,
  integrationsArea,
  vectorsArea,
  webhooksArea,
  searchArea,
  notificationsArea,
  supportArea,
  computersArea,
  sandboxesArea,
]

const kernelMigrations: MigrationSource = {
  schema: "kernel",
  folder: fileURLToPath(new URL("kernel/db/migrations", import.meta.url)),
}

export const migrationSources = (
  areas: readonly AreaDefinition<Services>[] = areaDefinitions,
): MigrationSource[] => [
  ...[kernelMigrations, coreMigrations, secretsMigrations, deliveriesMigrations],
  ...areas.flatMap(area => area.migrations ?? []),
]
