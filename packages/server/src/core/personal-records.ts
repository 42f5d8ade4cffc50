/** What the core and all areas hold of people, loaded or not. */
import type { AreaModule } from "../kernel/area.ts"
import type { PersonalData } from "../kernel/personal-data.ts"

/** The core last: its rows are those that others refer to. */
export const collectPersonalData = async (
  modules: readonly Pick<AreaModule, "personalData">[],
): Promise<readonly PersonalData[]> => {
  const core = import("./personal-data.ts")
  const sources = await Promise.all([...modules.map(({ personalData }) => personalData?.()), core])
  return sources.flatMap(source => (source ? [source.personalData] : []))
}
