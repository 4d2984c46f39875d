package testkit

import "reflect"

// Fill sets everything that v holds. leaf gets each value, with the field that holds it: it reports whether nothing
// remains to be done there, and otherwise may have made a slice. A pointer points to a value, a map gets an entry, and
// a slice that leaf has not made gets two elements.
func Fill(v reflect.Value, leaf func(v reflect.Value, field reflect.StructField) (done bool)) {
	fill(v, reflect.StructField{}, leaf)
}

func fill(v reflect.Value, field reflect.StructField, leaf func(reflect.Value, reflect.StructField) bool) {
	if leaf(v, field) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), v.Type().Field(i), leaf)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), field, leaf)
	case reflect.Slice:
		if v.IsNil() {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		}
		for i := range v.Len() {
			fill(v.Index(i), field, leaf)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, field, leaf)
		fill(value, field, leaf)
		v.SetMapIndex(key, value)
	default:
		panic("field " + field.Name + " of kind " + v.Kind().String() + " is not filled")
	}
}
