package corpus

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Distinct gives every field a distinct value other than the zero value.
func Distinct(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d <&> \" \n \u2028 ä", *n))
	case reflect.Uint8: // for data that is written as base64
		v.SetUint(uint64(*n % 256))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 3)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes(fmt.Appendf(nil, `{"n":%d,"command":"a<b && c>d \u0026 \u2028","big":12345678901234567890}`, *n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		Distinct(v.Index(0), n)
		Distinct(v.Index(1), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		Distinct(key, n)
		Distinct(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				Distinct(v.Field(i), n)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		Distinct(v.Elem(), n)
	case reflect.Interface:
		// A sealed union must be filled by the caller.
	default:
		panic(fmt.Sprintf("Distinct cannot fill a %s", v.Type()))
	}
}
