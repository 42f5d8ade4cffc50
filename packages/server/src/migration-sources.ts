/** The tables of all: of the kernel, of the core, and of each area. */
import { fileURLToPath } from "node:url"
import { coreMigrations, secretsMigrations } from "./core/core.ts"
import { deliveriesMigrations } from "./core/deliveries/open.ts"
import type { MigrationSource } from "./kernel/db/migrate.ts"
import { modules } from "./modules.ts"
import type { Module } from "./services.ts"

const kernelMigrations: MigrationSource = {
  schema: "kernel",
  folder: fileURLToPath(new URL("kernel/db/migrations", import.meta.url)),
}

export const migrationSources = (of: readonly Module[] = modules): MigrationSource[] => [
  ...[kernelMigrations, coreMigrations, secretsMigrations, deliveriesMigrations],
  ...of.flatMap(({ migrations }) => migrations ?? []),
]
