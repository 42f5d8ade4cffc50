/** What other areas may ask of this one: types and tokens alone. */
import type { Db } from "../../kernel/db/database.ts"
import { offerToken } from "../../kernel/token.ts"
import type { GitProviderName } from "../../ports/git/port.ts"

/** A push or a pull request that passed the filters of its integration. */
export interface PushToBuild {
  readonly organizationId: string
  readonly projectId: string
  readonly integrationId: string
  readonly provider: GitProviderName
  readonly repository: string
  /** Opens a private repository; null where there is none. */
  readonly installationId: number | null
  readonly ref: string
  readonly commit: string
  /** Null for a push. */
  readonly pullRequest: number | null
  readonly build: {
    readonly dockerfile_path?: string
    readonly build_args?: Readonly<Record<string, string>>
  }
  /** Where the image goes once it is built; null: nowhere. */
  readonly deployTarget: { readonly type: string; readonly id: string } | null
}

/** What the builds area does with pushes. */
export interface PushBuilder {
  /** On the transaction that records the push. Gives the build's id; null where nothing is to be built. */
  onPush(db: Db, push: PushToBuild): Promise<string | null>
}

/** Nobody provides it yet: pushes then build nothing. */
export const pushBuilder = offerToken<PushBuilder>("pushes")
