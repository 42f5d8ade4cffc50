/** Writes with conditions, answered as S3 answers them. */
import { isFault } from "../../../kernel/fault.ts"
import type { Conditions } from "../object-store.ts"
import type { S3Request } from "./request.ts"

/** `If-Match` where nothing is stored is 404 in S3. */
export const writeIf = async <Written>(
  { store, place, bucket, key }: S3Request,
  conditions: Conditions | undefined,
  write: (given: { readonly conditions?: Conditions }) => Promise<Written>,
): Promise<Written> => {
  try {
    return await write(conditions ? { conditions } : {})
  } catch (error) {
    if (conditions?.ifMatch && isFault(error, "precondition_failed")) await store.find(place, bucket, key)
    throw error
  }
}
