-- Abbreviations and units in names; a shipment has two warehouses; vehicles and drivers meet in trips.
CREATE TABLE warehouse (wh_code text PRIMARY KEY, city text NOT NULL, capacity_m3 int NOT NULL, opened_on date NOT NULL);
CREATE TABLE carrier (carrier_id int PRIMARY KEY, carrier_name text NOT NULL, country_code char(2) NOT NULL, rating numeric(2,1));
CREATE TABLE driver (driver_id int PRIMARY KEY, name text NOT NULL, carrier_id int NOT NULL REFERENCES carrier, licence_class text NOT NULL, active boolean NOT NULL);
CREATE TABLE vehicle (plate text PRIMARY KEY, carrier_id int NOT NULL REFERENCES carrier, kind text NOT NULL, max_load_kg int NOT NULL, mileage_km int NOT NULL);
CREATE TABLE shipment (shipment_id int PRIMARY KEY, origin_wh text NOT NULL REFERENCES warehouse, dest_wh text NOT NULL REFERENCES warehouse, carrier_id int REFERENCES carrier,
  weight_kg numeric(8,1) NOT NULL, cost_eur numeric(9,2) NOT NULL, dispatched_at timestamptz, delivered_at timestamptz, status text NOT NULL, fragile boolean NOT NULL);
CREATE TABLE parcel (parcel_id int PRIMARY KEY, shipment_id int NOT NULL REFERENCES shipment, contents text NOT NULL, weight_kg numeric(6,1) NOT NULL, declared_value_eur int);
CREATE TABLE trip (trip_id int PRIMARY KEY, driver_id int NOT NULL REFERENCES driver, plate text NOT NULL REFERENCES vehicle, shipment_id int NOT NULL REFERENCES shipment, distance_km int NOT NULL, started_at timestamptz NOT NULL);
CREATE TABLE incident (incident_id int PRIMARY KEY, trip_id int NOT NULL REFERENCES trip, severity text NOT NULL, note text, reported_at timestamptz NOT NULL);
INSERT INTO warehouse VALUES ('RTM1', 'Rotterdam', 42000, '2015-03-01'), ('HAM2', 'Hamburg', 38000, '2017-09-15'), ('MRS1', 'Marseille', 21000, '2019-01-20'), ('GDN1', 'Gdansk', 17500, '2021-06-30'), ('TRS1', 'Trieste', 12000, '2022-11-05');
INSERT INTO carrier VALUES (1, 'NordTrans', 'DE', 4.4), (2, 'BlueLine', 'NL', 3.9), (3, 'Viatrax', 'PL', 4.7), (4, 'Sudexpress', 'FR', NULL), (5, 'Alpina Cargo', 'IT', 4.1);
INSERT INTO driver SELECT i, (ARRAY['Adam Nowak','Bart Visser','Chloe Roux','Dario Conti','Erik Hahn','Fleur Smit','Goran Babic','Hugo Blanc','Ines Wolf'])[i], 1 + (i * 3) % 4, (ARRAY['C','CE','B'])[1 + i % 3], i % 3 <> 0 FROM generate_series(1, 9) i;
INSERT INTO vehicle SELECT (ARRAY['AB-101','CD-202','EF-303','GH-404','IJ-505','KL-606','MN-707'])[i], 1 + i % 4, (ARRAY['truck','van','truck','trailer'])[1 + i % 4], 2000 + (i * 3700) % 19000, 30000 + i * 18250 FROM generate_series(1, 7) i;
INSERT INTO shipment SELECT i, (ARRAY['RTM1','HAM2','MRS1','GDN1'])[1 + i % 4], (ARRAY['HAM2','MRS1','TRS1','RTM1','GDN1'])[1 + (i * 2 + i / 4) % 5], CASE WHEN i % 9 <> 0 THEN 1 + (i * i) % 4 END,
  80 + (i * 137) % 2900, 110 + (i * 53) % 1700 + 0.5, CASE WHEN i % 10 <> 0 THEN timestamptz '2023-07-03 06:00Z' + i * interval '7 days 2 hours' END,
  CASE WHEN i % 10 <> 0 AND i % 6 <> 0 THEN timestamptz '2023-07-03 06:00Z' + i * interval '7 days 2 hours' + (1 + i % 5) * interval '30 hours' END,
  CASE WHEN i % 10 = 0 THEN 'planned' WHEN i % 6 = 0 THEN 'in transit' ELSE 'delivered' END, i % 5 = 2 FROM generate_series(1, 48) i;
INSERT INTO parcel SELECT i, 1 + (i * 7) % 46, (ARRAY['machine parts','books','glassware','textiles','medicine'])[1 + i % 5], 2 + (i * 13) % 61, CASE WHEN i % 3 <> 0 THEN 50 + (i * 97) % 900 END FROM generate_series(1, 80) i;
INSERT INTO trip SELECT i, 1 + (i * 5) % 8, (ARRAY['AB-101','CD-202','EF-303','GH-404','IJ-505','KL-606'])[1 + (i * 5) % 6], 1 + (i * 3) % 47, 90 + (i * 211) % 1400, timestamptz '2023-07-10 05:00Z' + i * interval '6 days' FROM generate_series(1, 55) i;
INSERT INTO incident SELECT i, 1 + (i * 11) % 52, (ARRAY['minor','major','critical','minor'])[1 + i % 4], CASE WHEN i % 3 <> 0 THEN 'report ' || i END, timestamptz '2023-08-01 15:00Z' + i * interval '20 days' FROM generate_series(1, 14) i;
