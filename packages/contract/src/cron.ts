import { area } from "./dsl.ts"

export const cron = area("cron", { title: "Cron", summary: "Work at set times", project: "optional" }, {})
