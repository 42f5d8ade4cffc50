/** The tables of all: of the kernel, of the core, and of each module. */
import { fileURLToPath } from "node:url"
import { coreMigrations, secretsMigrations } from "./core/core.ts"
import type { MigrationSource } from "./kernel/db/migrate.ts"
import { modules, services } from "./modules.ts"

const kernelMigrations: MigrationSource = {
  schema: "kernel",
  folder: fileURLToPath(new URL("kernel/db/migrations", import.meta.url)),
}

interface HasMigrations {
  readonly migrations?: MigrationSource
}

export const migrationSources = (areas: readonly HasMigrations[] = modules): MigrationSource[] => [
  kernelMigrations,
  coreMigrations,
  secretsMigrations,
  ...[...services, ...areas].flatMap(({ migrations }: HasMigrations) => migrations ?? []),
]
