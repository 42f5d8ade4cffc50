import { type EvaluationSet, pairs } from "./evaluation.ts"

const setup = `
CREATE TABLE sites (site_id int PRIMARY KEY, site_name text NOT NULL, region text NOT NULL);
CREATE TABLE sensors (sensor_id int PRIMARY KEY, serial text NOT NULL, site_id int NOT NULL REFERENCES sites,
  kind text NOT NULL, installed_on date NOT NULL, enabled boolean NOT NULL, battery_level int);
CREATE TABLE readings (sensor_id int NOT NULL REFERENCES sensors, recorded_at timestamptz NOT NULL,
  temperature numeric(5,2), humidity numeric(5,2), PRIMARY KEY (sensor_id, recorded_at));
CREATE TABLE alerts (alert_id int PRIMARY KEY, sensor_id int NOT NULL REFERENCES sensors, severity text NOT NULL,
  raised_at timestamptz NOT NULL, resolved_at timestamptz, message text NOT NULL);
INSERT INTO sites VALUES (1, 'North Plant', 'north'), (2, 'South Plant', 'south'), (3, 'Harbor', 'south'), (4, 'Depot', 'west');
INSERT INTO sensors SELECT i, 'SN-' || 100 + i, 1 + i % 3, (ARRAY['indoor','outdoor','greenhouse'])[1 + i % 3],
  date '2023-01-15' + i * 40, i % 4 <> 0, CASE WHEN i % 5 = 0 THEN NULL ELSE (i * 17) % 100 END FROM generate_series(1, 10) i;
INSERT INTO readings SELECT s, timestamptz '2024-06-01 00:00Z' + h * interval '7 hours', CASE WHEN (s + h) % 11 = 0 THEN NULL ELSE
  12 + ((s * 7 + h * 3) % 23) + s * 0.01 END, 30 + ((s * 5 + h * 11) % 60) FROM generate_series(1, 8) s, generate_series(0, 48) h;
INSERT INTO alerts SELECT i, 1 + (i * 3) % 7, (ARRAY['low','medium','high','critical'])[1 + i % 4],
  timestamptz '2024-04-20 05:00Z' + i * interval '44 hours', CASE WHEN i % 3 = 0 THEN NULL ELSE timestamptz '2024-04-20 15:00Z' + i * interval '44 hours' END,
  CASE WHEN i % 2 = 0 THEN 'Temperature out of range' ELSE 'Signal lost' END FROM generate_series(1, 30) i;
`

const rs = "readings r JOIN sensors s ON s.sensor_id = r.sensor_id"

export const sensors: EvaluationSet = {
  name: "sensors",
  setup,
  pairs: pairs([
    ["list", "show all sensors", "SELECT * FROM sensors"],
    ["list", "list the serial and kind of every sensor", "SELECT serial, kind FROM sensors"],
    ["filter", "outdoor sensors", "SELECT * FROM sensors WHERE kind = 'outdoor'"],
    [
      "filter",
      "enabled sensors at the Harbor site",
      "SELECT s.* FROM sensors s JOIN sites USING (site_id) WHERE enabled AND site_name = 'Harbor'",
    ],
    ["filter", "sensors with a battery level below 20", "SELECT * FROM sensors WHERE battery_level < 20"],
    ["filter", "readings with temperature above 30 degrees", "SELECT * FROM readings WHERE temperature > 30"],
    [
      "filter",
      "readings with humidity between 40 and 50",
      "SELECT * FROM readings WHERE humidity BETWEEN 40 AND 50",
    ],
    ["filter", "critical alerts", "SELECT * FROM alerts WHERE severity = 'critical'"],
    ["filter", "high or critical alerts", "SELECT * FROM alerts WHERE severity IN ('high', 'critical')"],
    ["filter", "alerts that are not resolved", "SELECT * FROM alerts WHERE resolved_at IS NULL"],
    ["filter", "sensors that are not enabled", "SELECT * FROM sensors WHERE NOT enabled"],
    ["filter", "sensors with unknown battery level", "SELECT * FROM sensors WHERE battery_level IS NULL"],
    [
      "filter",
      "alerts whose message contains 'signal'",
      "SELECT * FROM alerts WHERE message ILIKE '%signal%'",
    ],
    ["filter", "sites in the south region", "SELECT * FROM sites WHERE region = 'south'"],
    ["filter", "readings where temperature is missing", "SELECT * FROM readings WHERE temperature IS NULL"],
    [
      "count",
      "how many sensors are in the south region?",
      "SELECT count(*) FROM sensors JOIN sites USING (site_id) WHERE region = 'south'",
    ],
    [
      "count",
      "number of alerts in May 2024",
      "SELECT count(*) FROM alerts WHERE raised_at >= '2024-05-01' AND raised_at < '2024-06-01'",
    ],
    [
      "count",
      "how many readings were recorded yesterday?",
      "SELECT count(*) FROM readings WHERE recorded_at >= '2024-06-14' AND recorded_at < '2024-06-15'",
    ],
    ["aggregate", "what is the average temperature?", "SELECT avg(temperature) FROM readings"],
    [
      "aggregate",
      "maximum temperature in the last 7 days",
      "SELECT max(temperature) FROM readings WHERE recorded_at >= '2024-06-08' AND recorded_at < '2024-06-16'",
    ],
    [
      "aggregate",
      "average humidity of greenhouse sensors",
      `SELECT avg(humidity) FROM ${rs} WHERE kind = 'greenhouse'`,
    ],
    [
      "aggregate",
      "lowest temperature at North Plant",
      `SELECT min(temperature) FROM ${rs} JOIN sites USING (site_id) WHERE site_name = 'North Plant'`,
    ],
    [
      "group",
      "average temperature per sensor",
      "SELECT r.sensor_id, avg(temperature) FROM readings r GROUP BY 1".replace(
        "r.sensor_id",
        "(SELECT serial FROM sensors s WHERE s.sensor_id = r.sensor_id)",
      ),
    ],
    [
      "group",
      "average temperature per day",
      "SELECT date_trunc('day', recorded_at)::date, avg(temperature) FROM readings GROUP BY 1",
    ],
    [
      "group",
      "daily average humidity",
      "SELECT date_trunc('day', recorded_at)::date, avg(humidity) FROM readings GROUP BY 1",
    ],
    [
      "group",
      "max temperature by site",
      `SELECT site_name, max(temperature) FROM ${rs} JOIN sites USING (site_id) GROUP BY 1`,
    ],
    [
      "group",
      "number of sensors per site",
      "SELECT site_name, count(*) FROM sensors JOIN sites USING (site_id) GROUP BY 1",
    ],
    ["group", "count alerts by severity", "SELECT severity, count(*) FROM alerts GROUP BY 1"],
    [
      "group",
      "alerts per week",
      "SELECT date_trunc('week', raised_at)::date, count(*) FROM alerts GROUP BY 1",
    ],
    [
      "group",
      "average temperature by hour of day",
      "SELECT extract(hour FROM recorded_at), avg(temperature) FROM readings GROUP BY 1",
    ],
    [
      "group",
      "average temperature per region and day",
      `SELECT region, date_trunc('day', recorded_at)::date, avg(temperature) FROM ${rs} JOIN sites USING (site_id) GROUP BY 1, 2`,
    ],
    [
      "rank",
      "which sensor has the most alerts?",
      "SELECT serial FROM sensors JOIN alerts USING (sensor_id) GROUP BY 1 ORDER BY count(*) DESC LIMIT 1",
    ],
    ["rank", "the 5 hottest readings", "SELECT * FROM readings ORDER BY temperature DESC NULLS LAST LIMIT 5"],
    ["rank", "latest 10 readings", "SELECT recorded_at FROM readings ORDER BY recorded_at DESC LIMIT 10"],
    ["rank", "sensor with the lowest battery level", "SELECT * FROM sensors ORDER BY battery_level LIMIT 1"],
    [
      "rank",
      "top 3 sensors by average temperature",
      "SELECT serial, avg(temperature) FROM sensors JOIN readings USING (sensor_id) GROUP BY 1 ORDER BY 2 DESC LIMIT 3",
    ],
    [
      "first per",
      "latest reading for each sensor",
      "SELECT DISTINCT ON (sensor_id) * FROM readings ORDER BY sensor_id, recorded_at DESC",
    ],
    [
      "first per",
      "most recent alert per sensor",
      "SELECT DISTINCT ON (sensor_id) * FROM alerts ORDER BY sensor_id, raised_at DESC",
    ],
    [
      "date",
      "readings from the past 24 hours",
      "SELECT * FROM readings WHERE recorded_at >= '2024-06-14 12:00Z'",
    ],
    ["date", "alerts raised since June 1, 2024", "SELECT * FROM alerts WHERE raised_at >= '2024-06-01'"],
    ["date", "sensors installed before July 2023", "SELECT * FROM sensors WHERE installed_on < '2023-07-01'"],
    [
      "date",
      "readings on 2024-06-05",
      "SELECT * FROM readings WHERE recorded_at >= '2024-06-05' AND recorded_at < '2024-06-06'",
    ],
    [
      "existence",
      "sensors without readings",
      "SELECT * FROM sensors s WHERE NOT EXISTS (SELECT FROM readings r WHERE r.sensor_id = s.sensor_id)",
    ],
    [
      "existence",
      "sites with no sensors",
      "SELECT * FROM sites s WHERE NOT EXISTS (SELECT FROM sensors x WHERE x.site_id = s.site_id)",
    ],
    [
      "existence",
      "sensors that have had a critical alert",
      "SELECT * FROM sensors s WHERE EXISTS (SELECT FROM alerts a WHERE a.sensor_id = s.sensor_id AND severity = 'critical')",
    ],
    [
      "existence",
      "sensors with no alerts in June 2024",
      "SELECT * FROM sensors s WHERE NOT EXISTS (SELECT FROM alerts a WHERE a.sensor_id = s.sensor_id AND raised_at >= '2024-06-01' AND raised_at < '2024-07-01')",
    ],
    [
      "having",
      "sensors with more than 4 alerts",
      "SELECT * FROM sensors s WHERE (SELECT count(*) FROM alerts a WHERE a.sensor_id = s.sensor_id) > 4",
    ],
    [
      "having",
      "sensors with an average temperature over 23",
      "SELECT * FROM sensors s WHERE (SELECT avg(temperature) FROM readings r WHERE r.sensor_id = s.sensor_id) > 23",
    ],
    [
      "percentage",
      "what percentage of alerts are critical?",
      "SELECT round(100.0 * count(*) FILTER (WHERE severity = 'critical') / count(*), 2) FROM alerts",
    ],
    [
      "join",
      "alerts with their sensor serial",
      "SELECT a.*, s.serial FROM alerts a JOIN sensors s USING (sensor_id)",
    ],
    [
      "join",
      "alerts at South Plant",
      "SELECT a.* FROM alerts a JOIN sensors USING (sensor_id) JOIN sites USING (site_id) WHERE site_name = 'South Plant'",
    ],
    [
      "comparison",
      "compare average temperature this week and last week",
      "SELECT avg(temperature) FILTER (WHERE recorded_at >= '2024-06-10' AND recorded_at < '2024-06-17'), avg(temperature) FILTER (WHERE recorded_at >= '2024-06-03' AND recorded_at < '2024-06-10') FROM readings",
    ],
  ]),
}
