import { defineService } from "../../kernel/service.ts"
import type { ValuesOf } from "../../kernel/setting.ts"
import { type Installation, installation, log } from "../../kernel/tokens.ts"
import type { EngineProvider } from "./index.ts"
import { engine } from "./port.ts"
import { settings } from "./settings.ts"

const providerOf = (
  values: ValuesOf<typeof settings>,
  { dataDir, runAs }: Installation,
  write: (line: string) => void,
): EngineProvider => {
  const { databaseCluster, dedicatedCgroup } = values
  if (databaseCluster !== undefined) return { driver: "cnpg", ...databaseCluster, log: write }
  return {
    driver: "local",
    dataDir,
    runAs,
    programs: { 16: values.pgBinDir16, 17: values.pgBinDir17, 18: values.pgBinDir18 },
    templatesDir: values.databaseTemplatesDir,
    memoryMb: values.databaseMemoryMb,
    dedicated:
      dedicatedCgroup === undefined
        ? undefined
        : {
            parentDir: dedicatedCgroup,
            memoryBytes: values.dedicatedMemoryMb * 2 ** 20,
            cpus: values.dedicatedCpus,
          },
    log: write,
  }
}

export const engineService = defineService({
  provides: engine,
  settings,
  needs: { installation, log },
  atStart: given => given.settings.databaseCluster !== undefined,
  async open({ settings: values, installation, log }, { opened }) {
    const { openEngine } = await import("./index.ts")
    const write = (line: string) => log.debug({ engine: line })
    return opened.use(await openEngine(providerOf(values, installation, write)))
  },
})
