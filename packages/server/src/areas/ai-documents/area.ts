import { createFileCache } from "./file-cache.ts"
import { documentHandlers } from "./handlers.ts"
import { createMaker } from "./making/maker.ts"
import type { Needs } from "./needs.ts"

export const start = ({ database }: Needs) => {
  const maker = createMaker()
  return {
    operations: documentHandlers({ database, maker, files: createFileCache() }),
    [Symbol.asyncDispose]: () => maker[Symbol.asyncDispose](),
  }
}
