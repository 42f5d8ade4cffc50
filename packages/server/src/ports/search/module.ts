import { defineService } from "../../kernel/service.ts"
import { database } from "../../kernel/tokens.ts"
import { search } from "./port.ts"
import { settings } from "./settings.ts"

export const searchService = defineService({
  provides: search,
  settings,
  needs: { database },
  atStart: given => given.settings.opensearchUrl !== undefined,
  async open({ settings: values, database: { pool } }, { opened }) {
    const { openSearch } = await import("./index.ts")
    const { opensearchUrl: url, opensearchUser, opensearchPassword, opensearchIndex } = values
    if (url === undefined) return opened.use(await openSearch({ driver: "postgres", pool }))
    const index = openSearch({
      driver: "opensearch",
      url,
      user: opensearchUser,
      password: opensearchPassword,
      index: opensearchIndex,
    })
    return opened.use(await index)
  },
})
