import type { Guard } from "./guard.ts"
import type { StatementReader } from "./offers.ts"
import { converterOf, type TypeCatalog } from "./pg-types.ts"

export const createStatementReader = (needs: {
  readonly guard: Pick<Guard, "check">
  readonly types: TypeCatalog
}): StatementReader => {
  const { guard, types } = needs
  return {
    checkReadOnly: sql => guard.check(sql, "request"),
    resultTypesOf: volumeId => ({
      async read(client, oids) {
        await types.load(volumeId, client, oids)
        const known = types.of(volumeId)
        return oid => ({ name: known.get(oid).name, toJson: converterOf(known, oid) })
      },
    }),
  }
}
