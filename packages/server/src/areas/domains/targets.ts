/** What domains can be pointed at, as other areas offer it. */
import type { DOMAIN_TARGETS } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { Offer } from "../../kernel/offer.ts"
import type { DomainOwner, DomainTarget, Site } from "./offers.ts"
import type { DomainRow } from "./store.ts"

export type TargetType = (typeof DOMAIN_TARGETS)[number]
export type Targets = Readonly<Record<TargetType, Offer<DomainTarget>>>

export interface GivenTarget {
  readonly type: TargetType
  readonly id: string
  readonly site?: Partial<Site>
}

type TargetColumns = Pick<DomainRow, "target_type" | "target_id" | "target_key" | "site">

export const NOWHERE: TargetColumns = { target_type: null, target_id: null, target_key: null, site: null }

const SITE: Site = { index_document: "index.html", error_document: null, spa: false, headers: {} }
/** Headers of an answer that tell how it is framed, or that it is not the site's to say. */
const OWN_HEADERS =
  /^(?:connection|keep-alive|transfer-encoding|content-length|content-encoding|content-range|trailer|upgrade|te|date|server|via|x-svc-.*|proxy-.*)$/i

const siteOf = ({ type, site }: GivenTarget): Site | null => {
  if (type !== "bucket") {
    if (site) throw fault("invalid_parameter", { reason: "target.site is for buckets alone" })
    return null
  }
  const own = Object.keys(site?.headers ?? {}).find(name => OWN_HEADERS.test(name))
  if (own !== undefined)
    throw fault("invalid_parameter", { reason: `target.site.headers: ${own} cannot be set` })
  return { ...SITE, ...site }
}

/** The columns of a target; throws where the project has none such, or the caller may not publish it. */
export const readTarget = async (
  targets: Targets,
  given: GivenTarget,
  owner: DomainOwner,
  requireScope: (scope: DomainTarget["scope"]) => void,
): Promise<TargetColumns> => {
  const kind = await targets[given.type].get()
  if (!kind)
    throw fault("invalid_parameter", {
      reason: `target.type: there is no ${given.type} in this installation`,
    })
  requireScope(kind.scope)
  const site = siteOf(given)
  const key = await kind.find(owner, given.id)
  if (key === undefined)
    throw fault("invalid_parameter", { reason: `target.id: the project has no ${given.type} of this id` })
  return { target_type: given.type, target_id: given.id, target_key: key, site }
}
