/** What other areas may ask of load balancers. */
import type { Db } from "../../kernel/db/database.ts"
import { offerToken } from "../../kernel/token.ts"

export interface LoadBalancers {
  exists(db: Db, projectId: string, id: string): Promise<boolean>
}

export const loadBalancers = offerToken<LoadBalancers>("loadBalancers")
