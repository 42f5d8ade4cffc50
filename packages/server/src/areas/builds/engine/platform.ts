import { architecture } from "../../../services/images/manifest.ts"

/** What images are built for here. */
export const PLATFORM = `linux/${architecture}`
